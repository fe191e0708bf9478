import { SIGNAL } from '../../protocol/names.js';
import type { TurnProgress } from '../../protocol/view.js';
import { advance, advanceBeforeFires } from './advance.js';
import { onCloseRequested } from './close.js';
import { noteInput } from './contact.js';
import { onDeliveryEnded, recallDeliveries } from './deliveries.js';
import { drain, undrain } from './drain.js';
import { andThen, unchanged, type Change } from './effects.js';
import { isKeptCancel, type CallFailure, type Moment, type SessionEvent } from './events.js';
import { fireDue, onSessionStarted } from './fires.js';
import { receiveSignal } from './inbox.js';
import { onModelFailed, onModelFinished, onWaitOver } from './model-calls.js';
import { canNudge } from './nudge.js';
import { notice } from './outbox.js';
import { receiveReminder } from './reminders.js';
import type { Call, SessionState, ToolStep } from './state.js';
import { stop } from './stop.js';
import { onToolFailed, onToolFinished } from './tools.js';
import {
  onCancelKept,
  onCancelRequested,
  onEditRequested,
  onFiresComputed,
  onScheduleRequested,
} from './wake-updates.js';

/**
 * The session's whole behaviour: what an event does to the state, and what must be done because of it. Pure: no clock, no chance,
 * no Temporal. An event about something that is no longer in flight changes nothing.
 */
export function transition(state: SessionState, event: SessionEvent, moment: Moment): Change {
  const applied = andThen(apply(state, event, moment), (next) => unchanged(withProgress(state, next, event, moment)));
  const follow = isKeptCancel(event) ? advanceBeforeFires : advance;
  const change = andThen(applied, (next) => follow(next, moment));
  return andThen(change, (next) => ({ state: next, effects: attentionEffects(state, next) }));
}

function apply(state: SessionState, event: SessionEvent, moment: Moment): Change {
  switch (event.kind) {
    case 'opened':
      return unchanged(recallDeliveries(state));
    case 'signalReceived':
      return onSignal(state, event, moment);
    case 'modelFinished': {
      const call = callInFlight(state, event);
      return call ? onModelFinished(inTrouble(state), call, event.result) : unchanged(state);
    }
    case 'modelFailed': {
      const call = callInFlight(state, event);
      if (!call) return unchanged(state);
      return onTime(inTrouble(state, event.failure.type), moment, (ready) =>
        onModelFailed(ready, call, event.failure, moment),
      );
    }
    case 'toolFinished':
      return onToolFinished(state, event);
    case 'toolFailed':
      return onToolFailed(state, event, moment);
    case 'recorded':
      return unchanged({ ...state, recording: null });
    case 'timerFired':
      return onTimer(state, moment);
    case 'resumeRequested':
      return unchanged(resume(state, event.fromStore));
    case 'stopRequested':
      return stop(state, event.turnId, moment);
    case 'drainRequested':
      return unchanged(drain(state, moment));
    case 'undrainRequested':
      return unchanged(undrain(state));
    case 'nudged':
      return unchanged(canNudge(state) ? resume(state, false) : state);
    case 'wakeScheduleRequested':
      return onScheduleRequested(state, event, moment);
    case 'wakeEditRequested':
      return onEditRequested(state, event, moment);
    case 'wakeCancelRequested':
      return onCancelRequested(state, event, moment);
    case 'closeRequested':
      return onCloseRequested(state, event, moment);
    case 'firesComputed':
      return onFiresComputed(state, event.id, event.result);
    case 'sessionStarted':
      return unchanged(onSessionStarted(state, event.key, event.problem));
    case 'deliveryEnded':
      return unchanged(onDeliveryEnded(state, event));
    default:
      return event satisfies never;
  }
}

function onSignal(
  state: SessionState,
  { name, args: [payload, ...more] }: Extract<SessionEvent, { kind: 'signalReceived' }>,
  moment: Moment,
): Change {
  if (name === SIGNAL.cancelWake) return onCancelKept(state, payload, moment);
  if (name === SIGNAL.reminder) {
    return unchanged(noteInput(state, receiveReminder(state, payload), name, moment.nowMs));
  }
  return unchanged(noteInput(state, receiveSignal(state, name, [payload, ...more]), name, moment.nowMs));
}

/** Only semantic steps count: that a call went out once more moves nothing. */
function withProgress(before: SessionState, after: SessionState, event: SessionEvent, moment: Moment): SessionState {
  const kind = progressBy(before, event);
  if (!kind || !after.turn || after.turn.id !== before.turn?.id) return after;
  return { ...after, turn: { ...after.turn, progress: { kind, phase: null, atMs: moment.nowMs } } };
}

function progressBy(state: SessionState, event: SessionEvent): TurnProgress['kind'] | null {
  if (event.kind === 'modelFinished') return callInFlight(state, event) ? 'call_completed' : null;
  if (event.kind !== 'toolFinished' || state.turn?.step.kind !== 'tools') return null;
  const { toolCallId, dispatch } = event;
  const isMeant = (call: ToolStep) => call.toolCallId === toolCallId && call.dispatch === dispatch && !call.done;
  return state.turn.step.calls.some(isMeant) ? 'tool_finished' : null;
}

function callInFlight(state: SessionState, { callId, dispatch }: { callId: string; dispatch: number }): Call | null {
  const step = state.turn?.step;
  if (step?.kind !== 'calling') return null;
  return step.call.callId === callId && step.call.dispatch === dispatch ? step.call : null;
}

/** How the turn's newest call failed, for whoever judges the turn. */
function inTrouble(state: SessionState, type?: CallFailure['type']): SessionState {
  const { trouble: _, ...turn } = state.turn!;
  return { ...state, turn: type === undefined ? turn : { ...turn, trouble: type } };
}

/** The timer is a nudge; what is due is read from the state. */
function onTimer(state: SessionState, moment: Moment): Change {
  const disarmed = { ...state, timerAtMs: null };
  const step = state.turn?.step;
  if (step?.kind !== 'waiting' || step.untilMs > moment.nowMs || moment.rollOverDue) return unchanged(disarmed);
  return onTime(disarmed, moment, (ready) => onWaitOver(ready, step.call));
}

/** What may send a call out again says how many items wait, so what is due joins them first. */
function onTime(state: SessionState, moment: Moment, next: (ready: SessionState) => Change): Change {
  return andThen(fireDue(state, moment), next);
}

/** From the store: what it holds becomes the session's transcript, under ids that cannot collide with what it holds. */
function resume(state: SessionState, fromStore: boolean): SessionState {
  if (!state.suspended) return state;
  const told = notice({ ...state, suspended: null }, 'session_resumed', 'the session goes on');
  if (!fromStore) return told;
  // The store knows by chain who drains.
  const drainChanges = { made: state.draining ? 1 : 0, told: 0 };
  return { ...told, head: null, carried: [], chain: `${state.chain}r`, drainChanges };
}

function attentionEffects(before: SessionState, after: SessionState): Change['effects'] {
  if ((before.suspended === null) === (after.suspended === null)) return [];
  return [{ kind: 'setAttention', attention: after.suspended ? 'suspended' : 'none' }];
}
