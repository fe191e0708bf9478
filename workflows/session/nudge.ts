import type { NudgeAnswer } from '../../protocol/session-input.js';
import type { SessionState } from './state.js';

/** Whether a nudge finds something that it could set going: what waits behind a suspension. All else goes on by itself. */
export function canNudge({ suspended, queue, draining }: SessionState): boolean {
  return suspended !== null && queue.length > 0 && !draining;
}

/** What to tell whoever nudged. In a run that is to roll over the turn opens in the next run, first of all. */
export function answerNudge(before: SessionState, after: SessionState): NudgeAnswer {
  if (before.turn) return 'already_running';
  const isNext = after.queue.length > 0 && !after.draining && !after.suspended;
  return after.turn || isNext ? 'started' : 'no_work';
}
