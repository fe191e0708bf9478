import type { AppendItem, TurnOutcome } from '../../protocol/calls.js';
import { itemIdOf, type OutcomeKind, sourceOf } from '../../protocol/fates.js';
import { LIMITS } from '../../protocol/limits.js';
import { addUsage, UNKNOWN_USAGE } from '../../protocol/usage.js';
import { routeOutcome } from './deliveries.js';
import { sayStarted, whyOf } from './occurrences.js';
import { notice, say } from './outbox.js';
import { setFate, toRecords } from './seen-items.js';
import { judgeWake } from './wakes.js';
import type { Call, QueuedItem, SessionState, Suspension, Turn } from './state.js';

/** Opens a turn for the head of the queue, its `opener`. Nothing is told or written before its first call begins. */
export function startTurn(state: SessionState, opener: QueuedItem, nowMs: number): SessionState {
  const queue = state.queue.slice(1);
  const turnCount = state.turnCount + 1;
  const id = `${state.chain}-${turnCount}`;
  const { message } = opener;
  const turn: Turn = {
    id,
    source: sourceOf(message.id),
    silent: message.silent,
    ...channelOf(state, message.channel),
    startedAtMs: nowMs,
    opener,
    itemIds: [message.id],
    steers: [],
    next: [...state.carried, toAppend(opener)],
    step: { kind: 'toDispatch' },
    callCount: 0,
    usage: UNKNOWN_USAGE,
    failedLinks: [],
    used: { resumes: 0, redispatches: 0, providerWaitMs: 0, capacityWaitMs: 0, profileChanges: 0, storeWaits: 0 },
    capacityWaitedUntilMs: 0,
  };
  return announceStart({ ...state, queue, turnCount, carried: [], turn }, turn, opener.announced);
}

function channelOf({ channel: ofSession }: SessionState, ofItem: string | undefined): { channel?: string } {
  const channel = ofItem ?? ofSession;
  return channel === null ? {} : { channel };
}

function announceStart(state: SessionState, turn: Turn, isAnnounced: boolean): SessionState {
  const { id: turnId, source, silent, startedAtMs: nowMs } = turn;
  const told = sayStarted(state, itemIdOf(source), { turnId, isAnnounced, nowMs });
  return say(told, { kind: 'TurnStarted', turnId, source, silent, why: whyOf(source) });
}

export function toAppend({ message, contentHash }: QueuedItem): AppendItem {
  return { kind: 'message', messageId: message.id, parts: message.parts, contentHash };
}

/** Ends the turn with an outcome that is yet to be recorded. */
export function settle(state: SessionState, nowMs: number, outcome: OutcomeKind, reason: string): SessionState {
  const turn = state.turn!;
  const ended: TurnOutcome = {
    turnId: turn.id,
    outcome,
    reason: reason.slice(0, LIMITS.reasonChars),
    source: turn.source,
    silent: turn.silent,
    usage: turn.usage,
    startedAtMs: turn.startedAtMs,
    endedAtMs: nowMs,
    ...(turn.stall ? { stall: turn.stall } : {}),
  };
  const released = release(state, ended);
  const { outcomes, items } = released.unrecorded;
  const unrecorded = {
    outcomes: [...outcomes, ended],
    items: [...items, ...toRecords(released, turn.itemIds)],
  };
  return { ...released, unrecorded };
}

/** The one way a turn ends: frees the session, fixes the fates of its items, and gives back what did not get in. */
export function release(
  state: SessionState,
  { outcome, reason }: Pick<TurnOutcome, 'outcome' | 'reason'>,
): SessionState {
  const turn = state.turn!;
  const call = openCall(turn);
  const isOpener = (id: string) => id === itemIdOf(turn.source);
  const answered = setFate(state, turn.itemIds.filter(isOpener), 'answered', turn.id);
  const fated = setFate(
    answered,
    turn.itemIds.filter((id) => !isOpener(id)),
    'steered',
    turn.id,
  );
  const released: SessionState = {
    ...fated,
    turn: null,
    queue: [...turn.steers, ...fated.queue],
    outbox: [...(call?.outputs ?? []), ...fated.outbox],
    usage: addUsage(fated.usage, turn.usage),
    lastOutcome: { turnId: turn.id, outcome, reason },
  };
  return carry(routeOutcome(judgeWake(released, turn, outcome), turn), claimedBy(turn.id, call?.append ?? turn.next));
}

/** A wake or a reminder started it, here or in the session that sent its message: nobody is there to be asked. */
export function isAutomated({ source, opener }: Turn): boolean {
  return source.kind !== 'message' || opener.message.isAutomated === true;
}

/** The call that a turn is in, when it is in one. */
export function openCall(turn: Turn): Call | null {
  return turn.step.kind === 'calling' || turn.step.kind === 'waiting' ? turn.step.call : null;
}

/** Half of what may wait, so that there is always room for a message to go on with. */
const CARRIED_CHARS = LIMITS.queuedChars / 2;

/** Keeps what no call took in for the next one: of messages the newest that fit, of the rest all, because it is small. */
function carry(state: SessionState, items: AppendItem[]): SessionState {
  let chars = 0;
  const carried = items.toReversed().filter((item) => {
    chars += JSON.stringify(item).length;
    return item.kind !== 'message' || chars <= CARRIED_CHARS;
  });
  const leftOut = items.length - carried.length;
  const kept = { ...state, carried: carried.toReversed() };
  if (leftOut === 0) return kept;
  const message = `${leftOut} messages of failed turns are too long together: the conversation goes on without the oldest`;
  return notice(kept, 'input_not_supported', message);
}

/** Items that a later turn appends stay claimed by the turn that took them. */
function claimedBy(turnId: string, items: AppendItem[]): AppendItem[] {
  return items.map((item) => (item.kind === 'message' ? { ...item, turnId: item.turnId ?? turnId } : item));
}

/** The opener turned out to be a repeat: the turn never was. `call` is its first. */
export function forgetTurn(state: SessionState, call: Call): SessionState {
  const turn = state.turn!;
  return {
    ...state,
    turn: null,
    queue: [...turn.steers, ...state.queue],
    carried: call.append.filter((item) => !(item.kind === 'message' && item.messageId === itemIdOf(turn.source))),
    outbox: [...call.outputs.filter((output) => !isOfStart(output, turn)), ...state.outbox],
  };
}

/** A turn that could not begin goes back to the head of the queue and the session stands still until someone acts. */
export function suspendBeforeStart(state: SessionState, call: Call, suspended: Suspension): SessionState {
  const forgotten = forgetTurn(state, call);
  return { ...forgotten, queue: [state.turn!.opener, ...forgotten.queue], suspended };
}

function isOfStart(output: SessionState['outbox'][number], turn: Turn): boolean {
  if (output.kind === 'TurnStarted' || output.kind === 'WakeFired') return output.turnId === turn.id;
  if (output.kind !== 'MessageReceived' && output.kind !== 'ReminderReceived') return false;
  return output.disposition.kind === 'started' && output.disposition.turnId === turn.id;
}
