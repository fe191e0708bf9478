import type { Selectable } from 'kysely';
import type { Db, SessionsTable, Tx } from './schema.js';
import type { SessionRow } from './session-store.js';

/** A session's row while this transaction holds its lock. */
export type LockedSession = Readonly<Selectable<SessionsTable>>;

const DEFAULT_TENANT = 'default';

/**
 * Locks a session's row, made if need be, until the transaction ends.
 * Every write to a session begins with this or `lockSession`: it puts the writers of one session in an order, on Postgres too.
 */
export function enterSession(
  tx: Tx,
  { sessionId, agent, chain }: { sessionId: string; agent: string; chain: string },
  nowMs: number,
): Promise<LockedSession> {
  const slash = sessionId.indexOf('/');
  const made: SessionsTable = {
    session_id: sessionId,
    tenant: slash < 0 ? DEFAULT_TENANT : sessionId.slice(0, slash),
    name: sessionId.slice(slash + 1),
    agent,
    chain,
    chain_base: null,
    head: null,
    status: 'running',
    queued: 0,
    turns: 0,
    last_seq: 0,
    last_outcome: null,
    last_turn_started_at_ms: null,
    last_input_tokens: null,
    created_at_ms: nowMs,
    updated_at_ms: nowMs,
  };
  return tx
    .insertInto('sessions')
    .values(made)
    .onConflict((conflict) => conflict.column('session_id').doUpdateSet({ updated_at_ms: nowMs }))
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The same for a session that must exist already; `undefined` when it does not. */
export function lockSession(tx: Tx, sessionId: string): Promise<LockedSession | undefined> {
  return tx
    .updateTable('sessions')
    .set((row) => ({ last_seq: row.ref('last_seq') }))
    .where('session_id', '=', sessionId)
    .returningAll()
    .executeTakeFirst();
}

export async function lastSeqs(db: Db, sessionIds: readonly string[]): Promise<Map<string, number>> {
  if (sessionIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('sessions')
    .select(['session_id', 'last_seq'])
    .where('session_id', 'in', sessionIds)
    .execute();
  return new Map(rows.map((row) => [row.session_id, row.last_seq]));
}

export async function findSession(db: Db, sessionId: string): Promise<SessionRow | null> {
  const row = await db.selectFrom('sessions').selectAll().where('session_id', '=', sessionId).executeTakeFirst();
  return row ? toSessionRow(row) : null;
}

export async function listSessions(
  db: Db,
  { tenant, limit }: { tenant?: string; limit: number },
): Promise<SessionRow[]> {
  const newest = db.selectFrom('sessions').selectAll().orderBy('updated_at_ms', 'desc').limit(limit);
  const rows = await (tenant === undefined ? newest : newest.where('tenant', '=', tenant)).execute();
  return rows.map(toSessionRow);
}

function toSessionRow(row: Selectable<SessionsTable>): SessionRow {
  return {
    sessionId: row.session_id,
    tenant: row.tenant,
    name: row.name,
    agent: row.agent,
    status: row.status,
    queued: row.queued,
    turns: row.turns,
    lastOutcome: row.last_outcome,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  };
}
