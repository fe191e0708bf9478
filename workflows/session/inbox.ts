import { LIMITS } from '../../protocol/limits.js';
import type { Message } from '../../protocol/messages.js';
import { SIGNAL } from '../../protocol/names.js';
import { contentHash } from './content-hash.js';
import { notice, say } from './outbox.js';
import { parseMessage } from './parse-message.js';
import { findSeen, remember } from './seen-items.js';
import type { QueuedItem, SeenItem, SessionState } from './state.js';
import { openCall } from './turns.js';

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
  const hash = contentHash(message.parts);
  const first = findSeen(state, message.id);
  if (first) return answerRepeat(state, first, hash);
  if (isFull(state, message)) return refuse(state, message);
  const item: QueuedItem = { message, contentHash: hash, announced: false };
  const accepted = remember(state, { id: message.id, contentHash: hash, fate: 'pending', turnId: null });
  // A new message is also the occasion to try a suspended session again: once, so never a loop.
  if (accepted.suspended) return { ...accepted, suspended: null, queue: [...accepted.queue, item] };
  const joins = accepted.turn && message.mode === 'steer' && !accepted.draining;
  return joins ? steer(accepted, item) : enqueue(accepted, item);
}

function answerRepeat(state: SessionState, first: SeenItem, hash: string): SessionState {
  return say(state, {
    kind: 'MessageReceived',
    messageId: first.id,
    disposition: {
      kind: 'duplicate',
      fate: first.fate,
      turnId: first.turnId,
      contentDiffers: first.contentHash !== hash,
    },
  });
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

function refuse(state: SessionState, message: Message): SessionState {
  return say(state, {
    kind: 'MessageReceived',
    messageId: message.id,
    disposition: {
      kind: 'refused',
      reason: 'queue_full',
      message: `the session has ${waitingItems(state).length} messages waiting; send it again when some are answered`,
    },
  });
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
    (sofar, item, index) =>
      item.announced
        ? sofar
        : say(sofar, {
            kind: 'MessageReceived',
            messageId: item.message.id,
            disposition: { kind: 'queued', position: index + 1 },
          }),
    state,
  );
  return { ...told, queue: told.queue.map((item) => ({ ...item, announced: true })) };
}
