import type { Selectable } from 'kysely';
import type { AppendItem } from '../protocol/calls.js';
import type { ItemRecord } from '../protocol/fates.js';
import { type NewOutput, toReceived } from '../protocol/outputs.js';
import type { Db, ItemsTable, Tx } from './schema.js';
import type { BeginTry } from './session-store.js';

/**
 * Dedupe of messages, for as long as the session lives (P4). A message belongs to the turn that first took it in. That turn may append
 * it again, and so may a later one on its behalf (`AppendItem.turnId`: the first turn ended before any answer followed it);
 * met in any other turn, it is a repeat.
 */
export interface Claims {
  /** Places in `append` that are left out, with what is known of the first. */
  repeats: ReadonlyMap<number, Repeat>;
  /** Messages that enter the transcript, with the turn that each belongs to. */
  taken: OwnedMessage[];
  /** Place of the first message that is this turn's own: in the turn's first call, the one that opened it. */
  opener: number | null;
}

export interface Repeat {
  first: ItemRecord;
  contentDiffers: boolean;
}

type OwnedMessage = Extract<AppendItem, { kind: 'message' }> & { turnId: string };

/** Reads only. */
export async function findClaims(tx: Tx, begin: BeginTry, startsChain: boolean): Promise<Claims> {
  const known = await knownItems(tx, begin);
  const repeats = new Map<number, Repeat>();
  const taken = new Map<string, OwnedMessage>();
  let opener: number | null = null;
  begin.append.forEach((item, place) => {
    if (item.kind !== 'message') return;
    const owned = { ...item, turnId: item.turnId ?? begin.turnId };
    if (owned.turnId === begin.turnId) opener ??= place;
    const claim = known.get(item.messageId);
    // What a chain that has ended took in and never answered is free for the new one.
    const isFreed = startsChain && claim?.fate === 'pending';
    const first = firstOf(owned, isFreed ? undefined : claim, taken.get(item.messageId));
    if (first) repeats.set(place, { first, contentDiffers: first.contentHash !== item.contentHash });
    else taken.set(item.messageId, owned);
  });
  return { repeats, taken: [...taken.values()], opener };
}

async function knownItems(tx: Tx, begin: BeginTry): Promise<Map<string, ItemRecord>> {
  const ids = begin.append.flatMap((item) => (item.kind === 'message' ? [item.messageId] : []));
  if (ids.length === 0) return new Map();
  const rows = await tx
    .selectFrom('items')
    .selectAll()
    .where('session_id', '=', begin.sessionId)
    .where('item_id', 'in', ids)
    .execute();
  return new Map(rows.map((row) => [row.item_id, toItemRecord(row)]));
}

/** What the message repeats, or `null` when its turn may take it. */
function firstOf(item: OwnedMessage, known: ItemRecord | undefined, takenHere?: OwnedMessage): ItemRecord | null {
  if (known && !isFree(known) && known.turnId !== item.turnId) return known;
  if (!takenHere) return null;
  return (
    known ?? { itemId: item.messageId, fate: 'pending', turnId: takenHere.turnId, contentHash: takenHere.contentHash }
  );
}

/** It waits, and no turn took it in yet. */
function isFree(known: ItemRecord): boolean {
  return known.turnId === null && known.fate === 'pending';
}

export async function takeItems(tx: Tx, { sessionId }: BeginTry, { taken }: Claims): Promise<void> {
  if (taken.length === 0) return;
  const rows = taken.map((item) => ({
    session_id: sessionId,
    item_id: item.messageId,
    turn_id: item.turnId,
    fate: 'pending' as const,
    content_hash: item.contentHash,
  }));
  await tx
    .insertInto('items')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['session_id', 'item_id'])
        .doUpdateSet((row) => ({ turn_id: row.fn.coalesce('items.turn_id', 'excluded.turn_id') })),
    )
    .execute();
}

/** Tells whoever sent the message again what became of it. */
export function repeatOutput({ callId }: BeginTry, place: number, { first, contentDiffers }: Repeat): NewOutput {
  const disposition = { kind: 'duplicate' as const, fate: first.fate, turnId: first.turnId, contentDiffers };
  return { ...toReceived(first.itemId, disposition), key: `${callId}/repeat.${place}` };
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
