import type { Transcript, TurnEnd, TurnItem, TurnTranscript } from '../../protocol/accumulate.js';
import type { Output } from '../../protocol/outputs.js';
import type { Discards, Usage } from '../../protocol/usage.js';
import { isWakeOutput, renderReminder, renderWakeOutput } from './render-wake.js';

/** A turn as text for a terminal: each item begins on a line of its own. Pure, so that the terminal can be made to show exactly this. */
export function renderTurn(turn: TurnTranscript): string {
  const items = turn.items.map(renderItem).filter((text) => text !== '');
  const end = turn.ended ? renderEnd(turn.ended) : '';
  const isOpen = turn.items.at(-1)?.kind === 'text' && !turn.ended;
  const text = [...items, end].filter((part) => part !== '').join('\n');
  return isOpen || text === '' ? text : `${text}\n`;
}

/** What a session says outside its turns: notices of its own, what becomes of wakes, and items that did not simply start a turn. */
export function renderAside(output: Output): string[] {
  if (output.kind === 'Notice' && output.turnId === undefined) return [`[${output.message}]`];
  if (isWakeOutput(output)) return [renderWakeOutput(output)];
  if (output.kind === 'ReminderReceived') return [renderReminder(output)];
  if (output.kind === 'SessionClosed') return [`[session closed by ${output.by}]`];
  if (output.kind !== 'MessageReceived') return [];
  const { disposition } = output;
  if (disposition.kind === 'refused') return [`[refused: ${disposition.message}]`];
  return disposition.kind === 'queued' ? [`[queued, number ${disposition.position}]`] : [];
}

/** Says what a newer version wrote and this one cannot show. */
export function renderSkipped({ unknownKinds }: Pick<Transcript, 'unknownKinds'>): string[] {
  return Object.keys(unknownKinds).map((kind) => `[not shown: "${kind}", which a newer version of Vigil wrote]`);
}

export function renderItem(item: TurnItem): string {
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

/** How a turn ended and what it cost, where either is worth a line. */
export function renderEnd(end: TurnEnd): string {
  const { outcome, reason, usage } = end;
  const why = reason ? `: ${reason}` : '';
  const ending = outcome === 'completed' && !reason ? '' : `[turn ${outcome}${why}]`;
  return [ending, renderUsage(usage, end)].filter((line) => line !== '').join('\n');
}

/** What was discarded stands apart from what the completed calls used; an estimate that nobody can give is left out. */
export function renderUsage(usage: Usage, discards: Partial<Discards> = {}): string {
  const parts = [renderTokens(usage), renderDiscards(discards)].filter((part) => part !== '');
  return parts.length === 0 ? '' : `(${parts.join('; ')})`;
}

function renderDiscards({ discardedAttempts, discardedEstimatedInputTokens: estimate }: Partial<Discards>): string {
  if (discardedAttempts === undefined) return '';
  const tries = `discarded: ${discardedAttempts} ${discardedAttempts === 1 ? 'try' : 'tries'}`;
  return estimate === null || estimate === undefined ? tries : `${tries}, about ${estimate} input tokens`;
}

function renderTokens(usage: Usage): string {
  const parts = [
    ['input', usage.uncachedInputTokens],
    ['cache read', usage.cacheReadTokens],
    ['cache write', usage.cacheWriteTokens],
    ['output', usage.outputTokens],
  ]
    .filter(([label, count]) => count !== null && (count !== 0 || label === 'output'))
    .map(([label, count]) => `${count} ${label}`);
  return parts.length === 0 ? '' : `tokens: ${parts.join(', ')}`;
}

function oneLine(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 200)}…` : line;
}
