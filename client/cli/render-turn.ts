import type { TurnItem, TurnTranscript } from '../../protocol/accumulate.js';
import type { Usage } from '../../protocol/usage.js';

/** A turn as text for a terminal: each item begins on a line of its own. Pure, so that the terminal can be made to show exactly this. */
export function renderTurn(turn: TurnTranscript): string {
  const items = turn.items.map(renderItem).filter((text) => text !== '');
  const end = turn.ended ? renderEnd(turn.ended) : '';
  const isOpen = turn.items.at(-1)?.kind === 'text' && !turn.ended;
  const text = [...items, end].filter((part) => part !== '').join('\n');
  return isOpen || text === '' ? text : `${text}\n`;
}

function renderItem(item: TurnItem): string {
  switch (item.kind) {
    case 'text':
      return item.isPartial ? `${item.text} … [stopped here]` : item.text;
    case 'tool': {
      const result = item.result ? ` -> ${item.result.ok ? '' : 'error: '}${oneLine(item.result.text)}` : ' ...';
      return `[tool ${item.name}(${oneLine(item.input)})${result}]`;
    }
    case 'notice':
      return `[${item.message}]`;
  }
}

function renderEnd({ outcome, reason, usage }: NonNullable<TurnTranscript['ended']>): string {
  const why = reason ? `: ${reason}` : '';
  const ending = outcome === 'completed' && !reason ? '' : `[turn ${outcome}${why}]\n`;
  return `${ending}${renderUsage(usage)}`;
}

export function renderUsage(usage: Usage): string {
  const parts = [
    ['input', usage.uncachedInputTokens],
    ['cache read', usage.cacheReadTokens],
    ['cache write', usage.cacheWriteTokens],
    ['output', usage.outputTokens],
  ]
    .filter(([label, count]) => count !== null && (count !== 0 || label === 'output'))
    .map(([label, count]) => `${count} ${label}`);
  return parts.length === 0 ? '' : `(tokens: ${parts.join(', ')})`;
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}
