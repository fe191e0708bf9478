import type { AppendItem, TurnOutcome } from '../../protocol/calls.js';
import type { OutcomeKind } from '../../protocol/fates.js';
import { LIMITS } from '../../protocol/limits.js';
import { addUsage, UNKNOWN_USAGE } from '../../protocol/usage.js';
import { say } from './outbox.js';
import { setFates } from './seen-items.js';
import type { Call, QueuedItem, SessionState, Suspension, Turn } from './state.js';

/** Opens a turn for the head of the queue. Nothing is told or written before its first call begins. */
export function startTurn(state: SessionState, nowMs: number): SessionState {
  const [opener, ...queue] = state.queue;
  if (!opener) return state;
  const turnCount = state.turnCount + 1;
  const id = `${state.chain}-${turnCount}`;
  const { message } = opener;
  const turn: Turn = {
    id,
    source: { kind: 'message', key: message.id },
    silent: message.silent,
    startedAtMs: nowMs,
    opener,
    itemIds: [message.id],
    steers: [],
    next: [...state.carried, toAppend(opener)],
    step: { kind: 'toDispatch' },
    callCount: 0,
    usage: UNKNOWN_USAGE,
    used: { resumes: 0, redispatches: 0, providerWaitMs: 0, profileChanges: 0, storeWaits: 0 },
  };
  return announceStart({ ...state, queue, turnCount, carried: [], turn }, turn, opener.announced);
}

function announceStart(state: SessionState, turn: Turn, isAnnounced: boolean): SessionState {
  const { id: turnId, source, silent } = turn;
  const received = isAnnounced
    ? state
    : say(state, { kind: 'MessageReceived', messageId: source.key, disposition: { kind: 'started', turnId } });
  return say(received, { kind: 'TurnStarted', turnId, source, silent, why: `message ${source.key}` });
}

export function toAppend({ message, contentHash }: QueuedItem): AppendItem {
  return { kind: 'message', messageId: message.id, parts: message.parts, contentHash };
}

/** The one way a turn ends: releases the session, notes the outcome for the record, and gives back what did not get in. */
export function settle(state: SessionState, nowMs: number, outcome: OutcomeKind, reason: string | null): SessionState {
  const { turn } = state;
  if (!turn) return state;
  const ended: TurnOutcome = {
    turnId: turn.id,
    outcome,
    reason: reason?.slice(0, LIMITS.reasonChars) ?? null,
    source: turn.source,
    silent: turn.silent,
    usage: turn.usage,
    startedAtMs: turn.startedAtMs,
    endedAtMs: nowMs,
  };
  const call = openCall(turn);
  const [openerId, ...steeredIds] = turn.itemIds;
  const fated = setFates(setFates(state, [openerId!], 'answered', turn.id), steeredIds, 'steered', turn.id);
  return {
    ...fated,
    turn: null,
    queue: [...turn.steers, ...fated.queue],
    carried: claimedBy(turn.id, call?.append ?? turn.next),
    outbox: [...(call?.outputs ?? []), ...fated.outbox],
    unrecorded: { ...fated.unrecorded, outcomes: [...fated.unrecorded.outcomes, ended] },
    usage: addUsage(fated.usage, turn.usage),
    lastOutcome: { turnId: turn.id, outcome, reason: ended.reason },
  };
}

/** The call that a turn is in, when it is in one. */
export function openCall(turn: Turn): Call | null {
  return turn.step.kind === 'calling' || turn.step.kind === 'waiting' ? turn.step.call : null;
}

/** Items that a later turn appends stay claimed by the turn that took them. */
function claimedBy(turnId: string, items: AppendItem[]): AppendItem[] {
  return items.map((item) => (item.kind === 'message' ? { ...item, turnId: item.turnId ?? turnId } : item));
}

/** The opener turned out to be a repeat: the turn never was. */
export function forgetTurn(state: SessionState): SessionState {
  const { turn } = state;
  if (!turn) return state;
  const outputs = (openCall(turn)?.outputs ?? []).filter((output) => !isOfStart(output, turn));
  const carried = turn.next.length > 0 ? turn.next : (openCall(turn)?.append ?? []);
  return {
    ...state,
    turn: null,
    queue: [...turn.steers, ...state.queue],
    carried: carried.filter((item) => !(item.kind === 'message' && item.messageId === turn.source.key)),
    outbox: [...outputs, ...state.outbox],
  };
}

/** A turn that could not begin goes back to the head of the queue and the session stands still until someone acts. */
export function suspendBeforeStart(state: SessionState, suspended: Suspension): SessionState {
  const opener = state.turn?.opener;
  const forgotten = forgetTurn(state);
  return { ...forgotten, queue: opener ? [opener, ...forgotten.queue] : forgotten.queue, suspended };
}

function isOfStart(output: SessionState['outbox'][number], turn: Turn): boolean {
  if (output.kind === 'TurnStarted') return output.turnId === turn.id;
  return (
    output.kind === 'MessageReceived' &&
    output.disposition.kind === 'started' &&
    output.disposition.turnId === turn.id
  );
}
