import type { AppendItem, CallModelResult, Settlement } from '../../protocol/calls.js';
import type { OutcomeKind } from '../../protocol/fates.js';
import { profileVersion } from '../../protocol/liveness.js';
import { addUsage } from '../../protocol/usage.js';
import type { Change } from './effects.js';
import { interrupt } from './drain.js';
import { closeAgain } from './close.js';
import { unchanged } from './effects.js';
import type { CallFailure, Moment } from './events.js';
import { lackOfCapacity, waitForCapacity } from './capacity.js';
import { fallBack, linkOf, reasonOf } from './fallback.js';
import { notice, say, takeOutbox } from './outbox.js';
import { refuse } from './inbox.js';
import { learnRepeats, setFate, toRecords } from './seen-items.js';
import { explained, triesLeft, withStall, withTries } from './stall.js';
import type { Call, SessionState, Suspension, Turn } from './state.js';
import { isSuspect, KILLED_ITS_WORKER, tellOfSuspect } from './suspects.js';
import { dispatchTools } from './tools.js';
import { forgetTurn, release, settle, suspendBeforeStart, toAppend } from './turns.js';
import { routeNotice } from './deliveries.js';
import { waitForProvider, waitForStore } from './waits.js';

type Completed = Exclude<CallModelResult, { kind: 'repeated' }>;

/** Starts the next logical call of a turn that stands at `toDispatch`. */
export function dispatchModel(state: SessionState, moment: Moment): Change {
  const turn = state.turn!;
  if (turn.callCount >= state.profile.stepsPerTurn) {
    const reason = `the turn used its ${state.profile.stepsPerTurn} model calls without coming to an end`;
    return unchanged(settle(state, moment.nowMs, 'failed', reason));
  }
  const { state: joined, append } = joinSteers(state);
  const { state: emptied, outputs } = takeOutbox(joined);
  const callCount = turn.callCount + 1;
  const call: Call = { callId: `${turn.id}.${callCount}`, dispatch: 1, append, outputs, sinceMs: moment.nowMs };
  return startCall({ ...emptied, turn: { ...emptied.turn!, callCount, next: [] } }, call);
}

/** Steered messages join here and nowhere else: from this moment they are in the turn, and told so. */
function joinSteers(state: SessionState): { state: SessionState; append: AppendItem[] } {
  const turn = state.turn!;
  const told = turn.steers.reduce(
    (sofar, { message }) =>
      say(sofar, {
        kind: 'MessageReceived',
        messageId: message.id,
        disposition: { kind: 'steered', turnId: turn.id },
      }),
    state,
  );
  const itemIds = [...turn.itemIds, ...turn.steers.map((item) => item.message.id)];
  return {
    state: { ...told, turn: { ...turn, steers: [], itemIds } },
    append: [...turn.next, ...turn.steers.map(toAppend)],
  };
}

/** Dispatches a call, new or again; the resume budget left in this turn becomes its retry policy. */
export function startCall(state: SessionState, call: Call): Change {
  const turn = state.turn!;
  const { sessionId, chain, agent, head, profile } = state;
  const { callId, dispatch, append, outputs } = call;
  const link = linkOf(state);
  return {
    state: { ...state, turn: { ...turn, step: { kind: 'calling', call } } },
    effects: [
      {
        kind: 'callModel',
        input: {
          ...{ sessionId, chain, agent, turnId: turn.id, head },
          profileVersion: profileVersion(profile),
          ...(link > 0 ? { link } : {}),
          settlement: toSettlement(state, turn),
          ...{ callId, dispatch, append, outputs },
          ...channelToKnow(turn),
        },
        profile,
        maximumAttempts: triesLeft(state),
        ...(call.isApart ? { isApart: true as const } : {}),
      },
    ],
  };
}

/** Asked of with the first call of a turn: later it would be too late to refuse. That of a wake was when it was scheduled. */
function channelToKnow({ callCount, source, channel }: Turn): { channel?: string } {
  return callCount > 1 || source.kind === 'wake' || channel === undefined ? {} : { channel };
}

/** What the call needs to end the turn by itself, should it be the last one. */
function toSettlement(state: SessionState, { source, silent, startedAtMs, usage, itemIds }: Turn): Settlement {
  const items = toRecords(state, itemIds).map(({ itemId, contentHash }) => ({ itemId, contentHash }));
  return { source, silent, startedAtMs, usage, items, queued: state.queue.length };
}

export function onModelFinished(state: SessionState, call: Call, result: CallModelResult): Change {
  if (result.kind === 'repeated') return unchanged(learnRepeats(forgetTurn(state, call), [result.first]));
  const learned = takeAnswer(state, result);
  return result.kind === 'toolCalls' ? dispatchTools(learned, result.toolCalls) : unchanged(release(learned, result));
}

function takeAnswer(state: SessionState, answer: Completed): SessionState {
  const turn = state.turn!;
  const repeated = new Set(answer.repeats.map((item) => item.itemId));
  const advanced: Turn = {
    ...turn,
    itemIds: turn.itemIds.filter((id) => !repeated.has(id)),
    usage: addUsage(turn.usage, answer.usage),
    used: { ...turn.used, resumes: turn.used.resumes + answer.attempt - 1, profileChanges: 0, storeWaits: 0 },
    step: { kind: 'toDispatch' },
  };
  return learnRepeats({ ...state, head: answer.head, model: answer.model, turn: advanced }, answer.repeats);
}

export function onModelFailed(state: SessionState, failed: Call, reported: CallFailure, moment: Moment): Change {
  const charged = chargeAttempts(state, reported);
  const call = withTries(state, failed, reported);
  const failure = explained(reported, { state, call, moment });
  if (state.draining && ASKS_AGAIN.has(failure.type)) return unchanged(interrupt(charged, moment, failure.message));
  const atNextLink = fallBack(charged, failure);
  // Another model's tries are its own.
  if (atNextLink) return startCall(atNextLink, { ...again(call), tries: 0 });
  switch (failure.type) {
    case 'ProfileChanged':
      return adoptProfile(charged, call, failure, moment);
    // Another task of the same try came first, as after a reset of the workflow: a newer dispatch is ahead of both.
    case 'StaleTry':
    case 'WorkerLost':
    case 'WorkerDraining':
    // The store had not heard yet that the session drains no more.
    case 'SessionDraining':
      return redispatch(charged, call, failure, moment);
    case 'ScheduleToStartTimeout':
      return awaitWorker(charged, call, moment);
    case 'ModelBusy':
      return unchanged(waitForProvider(charged, call, failure, moment));
    case 'StoreUnavailable':
      return unchanged(waitForStore(charged, call, failure, moment));
    case 'TranscriptMissing':
      return unchanged(suspend(charged, 'transcript_missing', { call, failure, moment }));
    case 'AgentUnavailable':
      return unchanged(suspend(charged, 'agent_unavailable', { call, failure, moment }));
    case 'SessionClosed':
      return closeAgain(charged, { call, hasBegun: !hasSurelyNotBegun(charged.turn!, call) }, failure, moment);
    case 'ChannelUndeclared':
      return refuseOpener(charged, call, failure, moment);
    case 'HeartbeatTimeout':
      return end(withStall(charged, failure), 'timeout', failure, moment);
    case 'ContextOverflow':
      return end(dropInputs(charged, call), 'failed', failure, moment);
    case 'ModelRejected':
      return end(failure.inputAtFault ? dropInputs(charged, call) : charged, 'failed', failure, moment);
    case 'StreamBroken':
    case 'Defect':
    case 'OtherTimeout':
    case 'Unknown':
      return end(charged, 'failed', failure, moment);
    default:
      return failure.type satisfies never;
  }
}

/** The answer could not go where it was to go, so nothing was asked. A turn that may have begun fails instead. */
function refuseOpener(state: SessionState, call: Call, failure: CallFailure, moment: Moment): Change {
  const { turn } = state;
  if (!hasSurelyNotBegun(turn!, call)) return end(state, 'failed', failure, moment);
  const { id } = turn!.opener.message;
  const forgotten = setFate(forgetTurn(state, call), [id], 'refused', null);
  const { outcomes, items } = forgotten.unrecorded;
  const unrecorded = { outcomes, items: [...items, ...toRecords(forgotten, [id])] };
  return unchanged(refuse({ ...forgotten, unrecorded }, id, 'channel_undeclared', failure.message));
}

function end(state: SessionState, outcome: OutcomeKind, { message }: CallFailure, { nowMs }: Moment): Change {
  return unchanged(settle(state, nowMs, outcome, reasonOf(state, message)));
}

/** Failures after which the call would go out again. */
const ASKS_AGAIN: ReadonlySet<CallFailure['type']> = new Set([
  'StaleTry',
  'WorkerLost',
  'WorkerDraining',
  'SessionDraining',
  'ScheduleToStartTimeout',
  'ModelBusy',
  'StoreUnavailable',
]);

/** What the provider refused, or could not hold, must not be refused again with every later message. */
function dropInputs(state: SessionState, call: Call): SessionState {
  const turn: Turn = { ...state.turn!, next: [], step: { kind: 'toDispatch' } };
  return { ...state, turn, outbox: [...call.outputs, ...state.outbox] };
}

/** Retries that the server made before this failure count as resumes; which failure ended them does not matter. */
function chargeAttempts(state: SessionState, { attempt }: CallFailure): SessionState {
  const turn = state.turn!;
  const { resumes: usedBefore } = turn.used;
  const resumes = attempt === null ? Math.max(usedBefore, state.profile.resumesPerTurn) : usedBefore + attempt - 1;
  return { ...state, turn: { ...turn, used: { ...turn.used, resumes } } };
}

/** Profile changes in a row after which workers that disagree are not asked any more. */
const PROFILE_CHANGES = 5;

function adoptProfile(state: SessionState, call: Call, { profile, message }: CallFailure, moment: Moment): Change {
  const turn = state.turn!;
  if (!profile || turn.used.profileChanges >= PROFILE_CHANGES) {
    return unchanged(settle(state, moment.nowMs, 'failed', `workers disagree about the agent's settings: ${message}`));
  }
  const used = { ...turn.used, profileChanges: turn.used.profileChanges + 1 };
  return startCall({ ...state, profile, turn: { ...turn, used } }, again(call));
}

/** A lost or draining worker costs a redispatch and nothing else, unless it is the call that it was lost by. */
function redispatch(state: SessionState, call: Call, failure: CallFailure, moment: Moment): Change {
  const turn = state.turn!;
  const redispatches = turn.used.redispatches + 1;
  if (redispatches > state.profile.redispatchesPerTurn) {
    const reason = `the turn lost its worker ${redispatches} times; the last time: ${failure.message}`;
    return unchanged(settle(state, moment.nowMs, 'interrupted', reason));
  }
  if (call.isApart && failure.type === 'WorkerLost') {
    return unchanged(settle(state, moment.nowMs, 'interrupted', `the model call was given up: ${KILLED_ITS_WORKER}`));
  }
  const charged = { ...state, turn: { ...turn, used: { ...turn.used, redispatches } } };
  if (call.isApart || !isSuspect(failure)) return startCall(charged, again(call));
  return startCall(tellOfSuspect(charged, 'the model call'), { ...again(call), isApart: true });
}

/** No worker had a slot for the call: it goes out again at once, and waits on. */
function awaitWorker(state: SessionState, call: Call, moment: Moment): Change {
  const waiting = waitForCapacity(state, moment);
  if (!waiting)
    return unchanged(settle(state, moment.nowMs, 'interrupted', `the call never ran: ${lackOfCapacity(state)}`));
  const { state: started, effects } = startCall(waiting, again(call));
  const turn: Turn = { ...started.turn!, step: { kind: 'calling', call: again(call), lackedCapacity: true } };
  return { state: { ...started, turn }, effects };
}

/** The time that a call had to wait for is over. */
export function onWaitOver(state: SessionState, call: Call): Change {
  return startCall(state, again(call));
}

const again = (call: Call): Call => ({ ...call, dispatch: call.dispatch + 1 });

/** A turn that has not begun waits in the queue; one that has is over, because its transcript or its agent is. */
function suspend(state: SessionState, reason: Suspension['reason'], { call, failure, moment }: Refusal): SessionState {
  const { message } = failure;
  const channel = state.turn!.channel ?? null;
  const subject = `${call.callId}.${call.dispatch}/suspended`;
  const told = routeNotice(notice(state, 'session_suspended', message), channel, {
    ...{ subject, code: 'session_suspended', message },
  });
  const suspended: Suspension = { reason, message };
  if (hasSurelyNotBegun(told.turn!, call)) return suspendBeforeStart(told, call, suspended);
  return { ...settle(told, moment.nowMs, 'interrupted', message), suspended };
}

interface Refusal {
  call: Call;
  failure: CallFailure;
  moment: Moment;
}

/**
 * Every try of its first call was refused at the door. Of any other the store may know: it has claimed the turn's message then, and
 * would take it for a repeat in another turn.
 */
function hasSurelyNotBegun({ callCount, used }: Turn, call: Call): boolean {
  return callCount === 1 && used.resumes === 0 && call.dispatch === 1 + used.profileChanges;
}
