import type { Selectable } from 'kysely';
import type { AppendItem } from '../protocol/calls.js';
import type { ItemRecord } from '../protocol/fates.js';
import type { NewOutput } from '../protocol/outputs.js';
import type { Db, ItemsTable, Tx } from './schema.js';
import type { BeginTry } from './session-store.js';

/**
 * Dedupe of messages, for as long as the session lives (P4). A message belongs to the call that first took it into the transcript;
 * met again by any other, it is a repeat of what it was there.
 */
export interface Claims {
  /** Places in `append` that are left out, with what is known of the first. */
  repeats: ReadonlyMap<number, Repeat>;
  /** Messages that this call takes now; an earlier try of it may have taken them already. */
  taken: MessageItem[];
}

export interface Repeat {
  first: ItemRecord;
  contentDiffers: boolean;
}

type MessageItem = Extract<AppendItem, { kind: 'message' }>;

/** Reads only. */
export async function findClaims(tx: Tx, begin: BeginTry): Promise<Claims> {
  const known = await knownItems(tx, begin);
  const repeats = new Map<number, Repeat>();
  const taken = new Map<string, MessageItem>();
  begin.append.forEach((item, place) => {
    if (item.kind !== 'message') return;
    const first = firstOf(item, begin, known.get(item.messageId), taken.get(item.messageId));
    if (first) repeats.set(place, { first, contentDiffers: first.contentHash !== item.contentHash });
    else taken.set(item.messageId, item);
  });
  return { repeats, taken: [...taken.values()] };
}

async function knownItems(tx: Tx, begin: BeginTry): Promise<Map<string, Selectable<ItemsTable>>> {
  const ids = begin.append.flatMap((item) => (item.kind === 'message' ? [item.messageId] : []));
  if (ids.length === 0) return new Map();
  const rows = await tx
    .selectFrom('items')
    .selectAll()
    .where('session_id', '=', begin.sessionId)
    .where('item_id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [row.item_id, row]));
}

/** What the message repeats, or `null` when it is this call's own. */
function firstOf(
  item: MessageItem,
  begin: BeginTry,
  row: Selectable<ItemsTable> | undefined,
  takenNow: MessageItem | undefined,
): ItemRecord | null {
  if (row && !isFree(row, begin)) return toItemRecord(row);
  if (takenNow)
    return { itemId: item.messageId, fate: 'pending', turnId: begin.turnId, contentHash: takenNow.contentHash };
  return null;
}

/** No call took it yet (it waited in the queue, or for the next step of a turn), or an earlier try of this one did. */
function isFree(row: Selectable<ItemsTable>, begin: BeginTry): boolean {
  return row.call_id === null ? row.fate === 'pending' : row.call_id === begin.callId;
}

export async function takeItems(tx: Tx, begin: BeginTry, { taken }: Claims): Promise<void> {
  if (taken.length === 0) return;
  const owner = { turn_id: begin.turnId, call_id: begin.callId };
  await tx
    .insertInto('items')
    .values(
      taken.map((item) => ({
        session_id: begin.sessionId,
        item_id: item.messageId,
        fate: 'pending' as const,
        content_hash: item.contentHash,
        ...owner,
      })),
    )
    .onConflict((conflict) => conflict.columns(['session_id', 'item_id']).doUpdateSet(owner))
    .execute();
}

/** Tells whoever sent the message again what became of it. */
export function repeatOutputs(begin: BeginTry, { repeats }: Claims): NewOutput[] {
  return [...repeats].map(([place, { first, contentDiffers }]) => ({
    kind: 'MessageReceived',
    key: `${begin.callId}/repeat.${place}`,
    messageId: first.itemId,
    disposition: { kind: 'duplicate', fate: first.fate, turnId: first.turnId, contentDiffers },
  }));
}

export async function findItem(db: Db, sessionId: string, itemId: string): Promise<ItemRecord | null> {
  const row = await db
    .selectFrom('items')
    .selectAll()
    .where('session_id', '=', sessionId)
    .where('item_id', '=', itemId)
    .executeTakeFirst();
  return row ? toItemRecord(row) : null;
}

function toItemRecord(row: Selectable<ItemsTable>): ItemRecord {
  return { itemId: row.item_id, fate: row.fate, turnId: row.turn_id, contentHash: row.content_hash };
}
