import type { OutcomeKind } from '../protocol/fates.js';
import type { StreamReading } from './read-stream.js';

/** A stream that ended without being a proper answer. Counts as a broken stream: asking again may help. */
export class StreamBrokenError extends Error {
  override name = 'StreamBrokenError';
}

/** Why a completed call ended. */
export type FinishKind = 'stop' | 'length' | 'contentFilter' | 'toolCalls';

type Content = 'toolCalls' | 'text' | 'nothing';
type Verdict = FinishKind | 'broken';

/**
 * What a finish reason means with what was received: every cell is decided. Tool calls count only with a finish that completes them,
 * so a call whose arguments were cut is never run. `nothing` is also reasoning alone, and text of spaces alone.
 *
 * The reasons `error` and `other` are not in it: they are no finish. A provider library says `other` for a stream that just ended, and
 * for a reason that it does not know. (Whether the provider's own word for the reason is known says nothing: OpenAI's Responses have
 * none for a normal end.)
 */
const FINISH_TABLE: Record<'stop' | 'tool-calls' | 'length' | 'content-filter', Record<Content, Verdict>> = {
  stop: { toolCalls: 'toolCalls', text: 'stop', nothing: 'broken' },
  'tool-calls': { toolCalls: 'toolCalls', text: 'stop', nothing: 'broken' },
  length: { toolCalls: 'length', text: 'length', nothing: 'length' },
  'content-filter': { toolCalls: 'contentFilter', text: 'contentFilter', nothing: 'contentFilter' },
};

/**
 * Judges a stream that ended by itself without an error part.
 * @throws StreamBrokenError when it is no answer: no finish, an unknown or failed one, or nothing said.
 */
export function judgeFinish({ parts, finish }: StreamReading): FinishKind {
  const { unified, raw } = finish?.reason ?? { unified: 'other', raw: undefined };
  if (unified === 'error' || unified === 'other') {
    const why =
      raw === undefined ? 'without a finish: it was cut off' : `with the finish "${raw}", which is no proper end`;
    throw new StreamBrokenError(`the stream ended ${why}`);
  }
  const verdict = FINISH_TABLE[unified][contentOf(parts)];
  if (verdict === 'broken') throw new StreamBrokenError('the model ended its answer without saying anything');
  return verdict;
}

function contentOf(parts: StreamReading['parts']): Content {
  if (parts.some((part) => part.kind === 'toolCall')) return 'toolCalls';
  return parts.some((part) => part.kind === 'text' && part.text.trim() !== '') ? 'text' : 'nothing';
}

/** How a call that goes on with no tools ends its turn. */
export function endingOf(finish: FinishKind, hasText: boolean): { outcome: OutcomeKind; reason: string | null } {
  switch (finish) {
    case 'stop':
    case 'toolCalls':
      return { outcome: 'completed', reason: null };
    case 'length':
      return hasText
        ? { outcome: 'completed', reason: "the answer was cut at the model's output limit" }
        : { outcome: 'failed', reason: 'the model reached its output limit before it wrote any text' };
    case 'contentFilter':
      return { outcome: 'failed', reason: "the provider's content filter stopped the answer" };
  }
}
