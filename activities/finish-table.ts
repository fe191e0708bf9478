import type { FinishKind } from '../protocol/calls.js';
import type { StreamReading } from './read-stream.js';

/** A stream that ended without being a proper answer. Counts as a broken stream: asking again may help. */
export class StreamBrokenError extends Error {
  override name = 'StreamBrokenError';
}

type Content = 'toolCalls' | 'text' | 'nothing';
type Verdict = FinishKind | 'broken';

/**
 * What a finish reason means with what was received: every cell is decided. Tool calls count only with a finish that completes them,
 * so a call whose arguments were cut is never run.
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
  if (unified === 'error' || unified === 'other' || raw === undefined) {
    throw new StreamBrokenError('the stream ended without a proper finish');
  }
  const content = parts.some((part) => part.kind === 'toolCall')
    ? 'toolCalls'
    : parts.some((part) => part.kind === 'text' && part.text !== '')
      ? 'text'
      : 'nothing';
  const verdict = FINISH_TABLE[unified][content];
  if (verdict === 'broken') throw new StreamBrokenError('the model ended its answer without saying anything');
  return verdict;
}
