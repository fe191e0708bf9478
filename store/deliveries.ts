import { createHash } from 'node:crypto';
import type { Insertable, Selectable } from 'kysely';
import type { DeliverInput, Undelivered } from '../protocol/channels.js';
import { LIMITS } from '../protocol/limits.js';
import type { NewOutput } from '../protocol/outputs.js';
import { saveSession } from './outputs.js';
import { type Db, type DeliveriesTable, fromColumn, type Tx } from './schema.js';
import type { ClaimDeliveries, DeliveryQuery, DeliveryState, EndDelivery, StoredDelivery } from './session-store.js';
import { lockSession } from './sessions.js';

/** How long an ended delivery is remembered, in milliseconds: longer than a repeat of it can come, and than a person needs to look. */
const KEPT_MS: Readonly<Record<Exclude<DeliveryState, 'pending'>, number>> = {
  delivered: 7 * 24 * 3_600_000,
  dropped: 7 * 24 * 3_600_000,
  dead: 30 * 24 * 3_600_000,
};

/** The same for every repeat; without the separators of names, because a signature is over text that they divide. */
export function deliveryId({ sessionId, subject, part }: Omit<DeliverInput, 'channel'>): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([sessionId, subject, part]))
    .digest('hex');
  return `msg_${hash.slice(0, 24)}`;
}

export async function acceptDelivery(tx: Tx, delivery: DeliverInput, nowMs: number): Promise<void> {
  for (const [state, keptMs] of Object.entries(KEPT_MS) as [DeliveryState, number][]) {
    const isOver = tx.deleteFrom('deliveries').where('state', '=', state);
    await isOver.where('updated_at_ms', '<', nowMs - keptMs).execute();
  }
  await insert(tx, [toRow(delivery, 'pending', nowMs)]);
}

/** What no channel took. Known deliveries keep what is known of them. */
export async function addDeadLetters(
  tx: Tx,
  sessionId: string,
  undelivered: readonly Undelivered[],
  nowMs: number,
): Promise<void> {
  const rows = undelivered.map(({ reason, ...delivery }) => ({
    ...toRow({ ...delivery, sessionId }, 'dead', nowMs),
    problem: reason,
  }));
  if (rows.length > 0) await insert(tx, rows);
}

async function insert(tx: Tx, rows: Insertable<DeliveriesTable>[]): Promise<void> {
  await tx
    .insertInto('deliveries')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

function toRow(delivery: DeliverInput, state: DeliveryState, nowMs: number): Insertable<DeliveriesTable> {
  const { channel, sessionId, subject, part, notice } = delivery;
  return {
    ...{ id: deliveryId(delivery), channel, session_id: sessionId, subject, part, state },
    notice: notice === undefined ? null : JSON.stringify(notice),
    ...{ attempts: 0, since_ms: nowMs, due_ms: nowMs, problem: null, updated_at_ms: nowMs },
  };
}

export async function claimDeliveries(tx: Tx, claim: ClaimDeliveries): Promise<StoredDelivery[]> {
  const { channel, nowMs, holdMs, limit } = claim;
  const due = tx
    .selectFrom('deliveries')
    .select('id')
    .where('channel', '=', channel)
    .where('state', '=', 'pending')
    .where('due_ms', '<=', nowMs)
    .orderBy('due_ms')
    .limit(limit);
  // Asked again of the row itself: another claim may have come between on a database with many writers.
  const rows = await tx
    .updateTable('deliveries')
    .set((row) => ({ attempts: row('attempts', '+', 1), due_ms: nowMs + holdMs, updated_at_ms: nowMs }))
    .where('id', 'in', due)
    .where('state', '=', 'pending')
    .where('due_ms', '<=', nowMs)
    .returningAll()
    .execute();
  return rows.map(toDelivery);
}

export async function endDelivery(tx: Tx, { id, attempt, end }: EndDelivery, nowMs: number): Promise<void> {
  const found = await findDelivery(tx, id);
  if (!found) return;
  // The session first, as everywhere: two writers that lock in different orders would wait for each other.
  const session = end.kind === 'dead' ? await lockSession(tx, found.sessionId) : undefined;
  const changed = await tx
    .updateTable('deliveries')
    .set({ ...toChange(end), updated_at_ms: nowMs })
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .where('attempts', '=', attempt)
    .executeTakeFirst();
  if (session && changed.numUpdatedRows > 0n) await saveSession(tx, session, [deadLetter(found)], {}, nowMs);
}

function toChange(end: EndDelivery['end']): Partial<DeliveriesTable> {
  if (end.kind === 'delivered') return { state: 'delivered', problem: null };
  const problem = end.problem.slice(0, LIMITS.reasonChars);
  return end.kind === 'dead' ? { state: 'dead', problem } : { problem, due_ms: end.dueMs };
}

function deadLetter({ id, channel, subject, attempts }: StoredDelivery): NewOutput {
  const message = `channel "${channel}" could not deliver ${subject}; it is kept, see: vigil deliveries show ${id}`;
  return { kind: 'Notice', key: `${id}/dead/${attempts}`, code: 'delivery_failed', message, isCallBoundary: false };
}

export async function findDelivery(db: Db, id: string): Promise<StoredDelivery | null> {
  const row = await db.selectFrom('deliveries').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? toDelivery(row) : null;
}

export async function listDeliveries(db: Db, { limit, channel, states }: DeliveryQuery): Promise<StoredDelivery[]> {
  let query = db.selectFrom('deliveries').selectAll().orderBy('updated_at_ms', 'desc').orderBy('id').limit(limit);
  if (channel !== undefined) query = query.where('channel', '=', channel);
  if (states !== undefined) query = query.where('state', 'in', states);
  return (await query.execute()).map(toDelivery);
}

export async function retryDelivery(tx: Tx, id: string, nowMs: number): Promise<boolean> {
  const again = { state: 'pending' as const, since_ms: nowMs, due_ms: nowMs, updated_at_ms: nowMs };
  return changeByHand(tx, id, again);
}

export async function dropDelivery(tx: Tx, id: string, nowMs: number): Promise<boolean> {
  return changeByHand(tx, id, { state: 'dropped', updated_at_ms: nowMs });
}

async function changeByHand(tx: Tx, id: string, change: Partial<DeliveriesTable>): Promise<boolean> {
  const changed = await tx
    .updateTable('deliveries')
    .set(change)
    .where('id', '=', id)
    .where('state', '!=', 'delivered')
    .executeTakeFirst();
  return changed.numUpdatedRows > 0n;
}

function toDelivery(row: Selectable<DeliveriesTable>): StoredDelivery {
  return {
    ...{ id: row.id, channel: row.channel, sessionId: row.session_id, subject: row.subject, part: row.part },
    ...(row.notice === null ? {} : { notice: fromColumn<NonNullable<DeliverInput['notice']>>(row.notice) }),
    ...{ state: row.state, attempts: row.attempts, sinceMs: row.since_ms, dueMs: row.due_ms },
    ...{ problem: row.problem, updatedAtMs: row.updated_at_ms },
  };
}
