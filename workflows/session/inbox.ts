import { LIMITS } from '../../protocol/limits.js';
import type { RefusalReason } from '../../protocol/fates.js';
import type { Message } from '../../protocol/messages.js';
import { SIGNAL } from '../../protocol/names.js';
import { toReceived } from '../../protocol/outputs.js';
import { contentHash } from './content-hash.js';
import { sayQueued } from './occurrences.js';
import { notice, say } from './outbox.js';
import { parseMessage } from './parse-message.js';
import { findSeen, remember } from './seen-items.js';
import type { QueuedItem, SeenItem, SessionState, Turn } from './state.js';
import { isAutomated, openCall } from './turns.js';

/**
 * Takes in what clients send. Never throws: what cannot be taken is answered with a `Notice` or a refusal, and nothing that was
 * accepted before is touched.
 */
export function receiveSignal(state: SessionState, name: string, args: unknown[]): SessionState {
  if (name !== SIGNAL.message) {
    return notice(state, 'unknown_signal', `signal "${name.slice(0, 100)}" is not known; a session takes "message"`);
  }
  const message = parseMessage(args[0]);
  if ('problem' in message) return notice(state, 'malformed_signal', message.problem);
  return receiveMessage(state, message);
}

function receiveMessage(state: SessionState, message: Message): SessionState {
  return takeIn(state, { message, contentHash: contentHash(message.parts), announced: false });
}

/** Accepts an item, or says why not; a repeat is answered with what became of the first. */
export function takeIn(state: SessionState, item: QueuedItem): SessionState {
  const { message, contentHash: hash } = item;
  const first = findSeen(state, message.id);
  if (first) return answerRepeat(state, first, hash);
  if (state.closed) return refuse(state, message.id, 'session_closed', 'the session is closed');
  if (isFull(state, message)) return refuseFull(state, message.id);
  const accepted = remember(state, { id: message.id, contentHash: hash, fate: 'pending', turnId: null });
  // A new message is also the occasion to try a suspended session again: once, so never a loop.
  if (accepted.suspended) return { ...accepted, suspended: null, queue: [...accepted.queue, item] };
  return joins(accepted, message) ? steer(accepted, item) : enqueue(accepted, item);
}

/** Nobody steers what a wake or a reminder started: a signal does not prove who sent it. */
function joins({ turn, draining }: SessionState, message: Message): boolean {
  return turn !== null && !isAutomated(turn) && message.mode === 'steer' && !draining && isSameWay(turn, message);
}

/** Whoever wants the answer elsewhere would not get it from this turn. */
function isSameWay(turn: Turn, { channel }: Message): boolean {
  return channel === undefined || channel === turn.channel;
}

function answerRepeat(state: SessionState, first: SeenItem, hash: string): SessionState {
  const { id, fate, turnId } = first;
  const contentDiffers = first.contentHash !== hash;
  return say(state, toReceived(id, { kind: 'duplicate', fate, turnId, contentDiffers }));
}

/** By count: what waits, and what is pending anywhere. By size: every message text that the state holds. */
function isFull(state: SessionState, message: Message): boolean {
  const waiting = waitingItems(state);
  const pending = state.seen.filter((item) => item.fate === 'pending');
  if (waiting.length >= LIMITS.queuedItems || pending.length >= LIMITS.rememberedItems) return true;
  const toAppend = state.turn ? [state.turn.next, openCall(state.turn)?.append] : state.carried;
  return JSON.stringify([waiting, toAppend, message]).length > LIMITS.queuedChars;
}

function waitingItems({ queue, turn }: SessionState): QueuedItem[] {
  return turn ? [...queue, ...turn.steers] : queue;
}

function refuseFull(state: SessionState, itemId: string): SessionState {
  const waiting = `the session has ${waitingItems(state).length} messages waiting`;
  return refuse(state, itemId, 'queue_full', `${waiting}; send it again when some are answered`);
}

/** Leaves nothing behind but the answer. */
export function refuse(state: SessionState, itemId: string, reason: RefusalReason, message: string): SessionState {
  return say(state, toReceived(itemId, { kind: 'refused', reason, message }));
}

function enqueue(state: SessionState, item: QueuedItem): SessionState {
  return { ...state, queue: [...state.queue, item] };
}

/** It joins the running turn if that has another step; if not, it is next. */
function steer(state: SessionState, item: QueuedItem): SessionState {
  const turn = state.turn!;
  const told = say(state, {
    kind: 'MessageReceived',
    messageId: item.message.id,
    disposition: { kind: 'queued', position: turn.steers.length + 1, mayJoin: turn.id },
  });
  return { ...told, turn: { ...turn, steers: [...turn.steers, { ...item, announced: true }] } };
}

/** Says "queued" to every waiting item that has not been told yet. */
export function announceQueued(state: SessionState): SessionState {
  if (state.queue.every((item) => item.announced)) return state;
  const told = state.queue.reduce(
    (sofar, { message, announced }, index) => (announced ? sofar : sayQueued(sofar, message.id, index + 1)),
    state,
  );
  return { ...told, queue: told.queue.map((item) => ({ ...item, announced: true })) };
}
