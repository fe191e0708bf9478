import { itemIdOf, occurrenceOf, sourceOf, type TurnSource } from '../../protocol/fates.js';
import type { Message, Part } from '../../protocol/messages.js';
import { toReceived } from '../../protocol/outputs.js';
import { contentHash } from './content-hash.js';
import { say } from './outbox.js';
import type { QueuedItem, SessionState } from './state.js';

/** What became due, as an item: always a turn of its own, so its mode is `queue`. */
export function toItem(source: TurnSource, parts: Part[], channel: string | null): QueuedItem {
  const route = channel === null ? {} : { channel };
  const message: Message = { kind: 'message', id: itemIdOf(source), parts, mode: 'queue', silent: false, ...route };
  return { message, contentHash: contentHash(parts), announced: false };
}

/** Keys of the occurrences of wakes that wait, run, or are on their way. */
export function occurrenceKeys({ queue, turn, starting }: SessionState): string[] {
  const here = [...(turn ? [turn.source] : []), ...queue.map((item) => sourceOf(item.message.id))];
  return [...here.filter(({ kind }) => kind === 'wake').map(({ key }) => key), ...starting.map(({ key }) => key)];
}

/** Says where an item waits, counted from 1. */
export function sayQueued(state: SessionState, itemId: string, position: number): SessionState {
  const { kind, key } = sourceOf(itemId);
  if (kind !== 'wake') return say(state, toReceived(itemId, { kind: 'queued', position }));
  const { id: wakeId, dueMs } = occurrenceOf(key);
  return say(state, { kind: 'WakeDeferred', wakeId, dueMs, position });
}

/** Says that an item has its turn: a wake always, others unless they were told before. */
export function sayStarted(
  state: SessionState,
  itemId: string,
  { turnId, isAnnounced, nowMs }: { turnId: string; isAnnounced: boolean; nowMs: number },
): SessionState {
  const { kind, key } = sourceOf(itemId);
  if (kind !== 'wake') return isAnnounced ? state : say(state, toReceived(itemId, { kind: 'started', turnId }));
  const { id: wakeId, dueMs } = occurrenceOf(key);
  const skipped = state.wakes.find(({ id }) => id === wakeId)?.counts.skipped ?? 0;
  return say(state, { kind: 'WakeFired', wakeId, dueMs, lateMs: nowMs - dueMs, skipped, turnId });
}

/** Why a turn begins, in words. */
export function whyOf({ kind, key }: TurnSource): string {
  if (kind === 'message') return `message ${key}`;
  const { id, dueMs } = occurrenceOf(key);
  return `${kind} ${id}, due ${new Date(dueMs).toISOString()}`;
}
