import type { RecordInput, SessionStatus } from '../../protocol/calls.js';
import type { Change } from './effects.js';
import { andThen, unchanged } from './effects.js';
import type { Moment } from './events.js';
import { handOverDeliveries } from './deliveries.js';
import { fireDue, refill } from './fires.js';
import { announceQueued } from './inbox.js';
import { dispatchModel } from './model-calls.js';
import { takeOutbox } from './outbox.js';
import type { SessionState } from './state.js';
import { startTurn } from './turns.js';
import { nextInstantMs } from './wakes.js';

/**
 * What follows from the state after any event: the only place that opens turns, starts the next call, hands over records, arms the
 * timer and rolls over. It may be asked again at any time and then does nothing twice.
 */
export function advance(state: SessionState, moment: Moment): Change {
  return andThen(fireDue(state, moment), (next) => advanceBeforeFires(next, moment));
}

/** The same, but what is due by now waits for the next event: the timer is armed for it. */
export function advanceBeforeFires(state: SessionState, moment: Moment): Change {
  let change = unchanged(state);
  for (const step of [dispatch, announce, refill, handOver, handOverDeliveries, armTimer, rollOver]) {
    change = andThen(change, (sofar) => step(sofar, moment));
  }
  return change;
}

/** Opens turns and starts calls until one is in flight or nothing is left to do. */
function dispatch(state: SessionState, moment: Moment): Change {
  if (moment.rollOverDue || state.suspended) return unchanged(state);
  if (!state.turn) {
    const opener = state.draining ? undefined : state.queue[0];
    return opener ? dispatch(startTurn(state, opener, moment.nowMs), moment) : unchanged(state);
  }
  if (state.turn.step.kind !== 'toDispatch') return unchanged(state);
  return andThen(dispatchModel(state, moment), (sofar) => (sofar.turn ? unchanged(sofar) : dispatch(sofar, moment)));
}

function announce(state: SessionState): Change {
  return unchanged(announceQueued(state));
}

/**
 * Hands what is to be recorded to one `record` activity at a time; a call that starts in this moment took the outputs already.
 * A run that is about to roll over starts none: the next run hands over what it carried.
 */
function handOver(state: SessionState, moment: Moment): Change {
  if (state.recording || !hasToHandOver(state) || (moment.rollOverDue && isAlmostQuiet(state))) return unchanged(state);
  const { outcomes, items } = state.unrecorded;
  const undelivered = state.undelivered.length === 0 ? {} : { undelivered: state.undelivered };
  const { made, told } = state.drainChanges;
  const { state: emptied, outputs } = takeOutbox(state);
  const drain = made === told ? {} : { drain: { isDraining: state.draining, change: made } };
  const recording = { outputs, outcomes, items, ...drain, ...undelivered };
  return {
    state: {
      ...emptied,
      unrecorded: { outcomes: [], items: [] },
      undelivered: [],
      drainChanges: { made, told: made },
      recording,
    },
    effects: [{ kind: 'record', input: toRecordInput(emptied, recording) }],
  };
}

function hasToHandOver({ outbox, noticesLeftOut, unrecorded, undelivered, drainChanges }: SessionState): boolean {
  const { outcomes, items } = unrecorded;
  const waiting = outbox.length + noticesLeftOut + outcomes.length + items.length + undelivered.length;
  return waiting > 0 || drainChanges.made !== drainChanges.told;
}

export function toRecordInput(state: SessionState, batch: NonNullable<SessionState['recording']>): RecordInput {
  const { sessionId, chain, agent, queue } = state;
  return { sessionId, chain, agent, status: statusOf(state), queued: queue.length, ...batch };
}

export function statusOf(state: SessionState): SessionStatus {
  if (state.closed) return 'closed';
  if (state.suspended) return 'suspended';
  return state.turn ? 'running' : 'idle';
}

/** The instant at which something is due, armed once; code elsewhere only changes what is due. Nothing is, in a run that starts no work. */
function armTimer(state: SessionState, moment: Moment): Change {
  const wanted = moment.rollOverDue ? null : nextDueMs(state);
  if (wanted === state.timerAtMs) return unchanged(state);
  return { state: { ...state, timerAtMs: wanted }, effects: [{ kind: 'armTimer', atMs: wanted }] };
}

function nextDueMs(state: SessionState): number | null {
  const step = state.turn?.step;
  const waitMs = step?.kind === 'waiting' ? step.untilMs : null;
  const wakeMs = nextInstantMs(state);
  return waitMs === null || wakeMs === null ? (waitMs ?? wakeMs) : Math.min(waitMs, wakeMs);
}

/** Continue-as-new only when nothing is in flight, whose result would be lost. */
function rollOver(state: SessionState, moment: Moment): Change {
  if (!moment.rollOverDue || !isQuiet(state)) return unchanged(state);
  return { state, effects: [{ kind: 'continueAsNew' }] };
}

/** Due times are known in a moment, so nothing is begun that the run would have to wait for. */
const isAlmostQuiet = (state: SessionState): boolean => isQuiet({ ...state, computing: [] });

/** Nothing is in flight whose result a continue-as-new would lose. Deliveries are not: the next run hands them over again. */
export function isQuiet(state: SessionState): boolean {
  const step = state.turn?.step.kind;
  const isComputing = state.computing.length + state.starting.length > 0;
  return step !== 'calling' && step !== 'tools' && state.recording === null && !isComputing;
}

/** Nothing is left to do for a closed session: its workflow ends. */
export function isFinished(state: SessionState): boolean {
  const isAtRest = isQuiet(state) && state.turn === null && state.deliveries.length === 0;
  return state.closed && isAtRest && !hasToHandOver(state);
}
