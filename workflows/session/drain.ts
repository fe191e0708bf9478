import type { DrainAnswer, UndrainAnswer } from '../../protocol/session-input.js';
import type { Moment } from './events.js';
import { notice } from './outbox.js';
import type { SessionState } from './state.js';
import { settle } from './turns.js';

/**
 * A session that drains comes to rest: no turn opens, what arrives waits, the running turn goes on, but asks nothing again. A call in
 * flight has its retry policy already, so the store is told too: it refuses every try of a call but the first.
 */
export function drain(state: SessionState, moment: Moment): SessionState {
  if (state.draining) return state;
  const told = notice(
    changed(state, true),
    'session_draining',
    'the session drains: what arrives waits until it is undrained',
  );
  if (told.turn?.step.kind !== 'waiting') return told;
  return interrupt(
    told,
    moment,
    told.turn.step.why === 'model_busy' ? 'the provider was busy' : 'the session store was away',
  );
}

export function undrain(state: SessionState): SessionState {
  if (!state.draining) return state;
  return notice(changed(state, false), 'session_undrained', 'the session takes up work again');
}

function changed(state: SessionState, draining: boolean): SessionState {
  const { made, told } = state.drainChanges;
  return { ...state, draining, drainChanges: { made: made + 1, told } };
}

/** Ends the turn, because what would have to be asked again is not asked while the session drains. */
export function interrupt(state: SessionState, moment: Moment, why: string): SessionState {
  return settle(state, moment.nowMs, 'interrupted', `the session drains, so the call was not tried again: ${why}`);
}

/** What to tell whoever asked, from the state before. */
export function answerDrain({ draining, turn, queue }: SessionState): DrainAnswer {
  const endsNow = !draining && turn?.step.kind === 'waiting';
  const turnId = turn && !endsNow ? turn.id : null;
  return { kind: draining ? 'already_draining' : 'draining', turnId, queued: queue.length };
}

export function answerUndrain({ draining, queue }: SessionState): UndrainAnswer {
  return { kind: draining ? 'undrained' : 'not_draining', next: queue[0]?.message.id ?? null };
}
