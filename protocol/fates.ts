/**
 * The closed list of ways an accepted item ends (promise P4). `pending` is not an end: the item is in the queue or in a running turn.
 */
export const FATES = ['answered', 'steered', 'withdrawn', 'refused', 'skipped', 'dropped', 'expired'] as const;
export type Fate = (typeof FATES)[number];

/** How a turn ends. There are no others. */
export const OUTCOMES = ['completed', 'failed', 'aborted', 'timeout', 'interrupted'] as const;
export type OutcomeKind = (typeof OUTCOMES)[number];

/**
 * What started a turn. `key` is a message's id, `wakeId:dueMs` or `reminderId:dueMs`.
 */
export interface TurnSource {
  kind: 'message' | 'wake' | 'reminder';
  key: string;
}

/** Prefixes of item ids that messages must not have, so that kinds of items are never confused. */
export const RESERVED_ID_PREFIXES = ['wake:', 'reminder:'] as const;

/** The id under which the item that started a turn is remembered: a message's own, `wake:<key>` or `reminder:<key>`. */
export function itemIdOf({ kind, key }: TurnSource): string {
  return kind === 'message' ? key : `${kind}:${key}`;
}

/** The kind of an item, and its key, by its id. */
export function sourceOf(itemId: string): TurnSource {
  for (const kind of ['wake', 'reminder'] as const) {
    if (itemId.startsWith(`${kind}:`)) return { kind, key: itemId.slice(kind.length + 1) };
  }
  return { kind: 'message', key: itemId };
}

/** Splits the key of a wake's or reminder's item; ids may hold colons, due times do not. */
export function occurrenceOf(key: string): { id: string; dueMs: number } {
  const colon = key.lastIndexOf(':');
  return { id: key.slice(0, colon), dueMs: Number(key.slice(colon + 1)) };
}

/** What the session did with an item at the moment it read it, or, for a repeat, what became of the first one. */
export type Disposition =
  | { kind: 'started'; turnId: string }
  | { kind: 'steered'; turnId: string }
  /** `mayJoin`: the running turn that takes it in if that has another step. */
  | { kind: 'queued'; position: number; mayJoin?: string }
  | { kind: 'refused'; reason: RefusalReason; message: string }
  | { kind: 'duplicate'; fate: Fate | 'pending'; turnId: string | null; contentDiffers: boolean };

export type RefusalReason =
  'queue_full' | 'session_suspended' | 'session_busy' | 'session_closed' | 'channel_undeclared';

/** What is known of an item: for a client that asks again, and for a repeat of the item. */
export interface ItemRecord {
  itemId: string;
  fate: Fate | 'pending';
  turnId: string | null;
  contentHash: string;
}
