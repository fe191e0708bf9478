/**
 * The closed list of ways an accepted item ends (promise P4). `pending` is not an end: the item is in the queue or in a running turn.
 */
export const FATES = ['answered', 'steered', 'withdrawn', 'refused', 'skipped', 'dropped', 'expired'] as const;
export type Fate = (typeof FATES)[number];

/** How a turn ends. There are no others. */
export const OUTCOMES = ['completed', 'failed', 'aborted', 'timeout', 'interrupted'] as const;
export type OutcomeKind = (typeof OUTCOMES)[number];

/** What started a turn; `key` is the item's id. */
export interface TurnSource {
  kind: 'message';
  key: string;
}

/** What the session did with an item at the moment it read it, or, for a repeat, what became of the first one. */
export type Disposition =
  | { kind: 'started'; turnId: string }
  | { kind: 'steered'; turnId: string }
  /** `mayJoin`: the running turn that takes it in if that has another step. */
  | { kind: 'queued'; position: number; mayJoin?: string }
  | { kind: 'refused'; reason: RefusalReason; message: string }
  | { kind: 'duplicate'; fate: Fate | 'pending'; turnId: string | null; contentDiffers: boolean };

export type RefusalReason = 'queue_full' | 'session_suspended';

/** What is known of an item: for a client that asks again, and for a repeat of the item. */
export interface ItemRecord {
  itemId: string;
  fate: Fate | 'pending';
  turnId: string | null;
  contentHash: string;
}
