import { sql } from 'kysely';
import { type NewOutput, type Output, UNFILTERABLE_KINDS, withDefaults } from '../protocol/outputs.js';
import { type Db, fromColumn, type OutputsTable, type SessionsTable, type Tx } from './schema.js';
import type { OutputQuery } from './session-store.js';
import type { LockedSession } from './sessions.js';

/** Keeps a statement's parameters far below the limits of both databases (SQLite 32,766, Postgres 65,535). */
const ROWS_PER_STATEMENT = 500;

/**
 * The last step of a write to a session: adds the outputs that the journal does not have yet, and changes the session's row.
 * `seq` is given out under the lock on that row, so no transaction that commits later can add one below (I4).
 * Returns how many outputs were new.
 */
export async function saveSession(
  tx: Tx,
  session: LockedSession,
  outputs: readonly NewOutput[],
  change: Partial<SessionsTable>,
  nowMs: number,
): Promise<number> {
  const fresh = await withoutKnown(tx, session.session_id, outputs);
  const rows = fresh.map((output, index) => toRow(session, output, session.last_seq + index + 1, nowMs));
  for (const some of portions(rows)) await tx.insertInto('outputs').values(some).execute();
  if (rows.length === 0 && Object.keys(change).length === 0) return 0;
  await tx
    .updateTable('sessions')
    .set({ ...change, last_seq: session.last_seq + rows.length })
    .where('session_id', '=', session.session_id)
    .execute();
  return rows.length;
}

/** The first of several with one key counts, here as in the journal. */
async function withoutKnown(tx: Tx, sessionId: string, outputs: readonly NewOutput[]): Promise<NewOutput[]> {
  const byKey = new Map<string, NewOutput>();
  for (const output of outputs) if (!byKey.has(output.key)) byKey.set(output.key, output);
  for (const keys of portions([...byKey.keys()])) {
    const known = await tx
      .selectFrom('outputs')
      .select('key')
      .where('session_id', '=', sessionId)
      .where('key', 'in', keys)
      .execute();
    for (const { key } of known) byKey.delete(key);
  }
  return [...byKey.values()];
}

function toRow(session: LockedSession, output: NewOutput, seq: number, nowMs: number): OutputsTable {
  const { key, ...body } = output;
  return {
    session_id: session.session_id,
    seq,
    key,
    kind: body.kind,
    turn_id: 'turnId' in body ? (body.turnId ?? null) : null,
    at_ms: nowMs,
    body: JSON.stringify(body),
  };
}

function portions<T>(all: T[]): T[][] {
  const count = Math.ceil(all.length / ROWS_PER_STATEMENT);
  return Array.from({ length: count }, (_, n) => all.slice(n * ROWS_PER_STATEMENT, (n + 1) * ROWS_PER_STATEMENT));
}

/** A kind that a newer writer added is handed on as it is: what to show of it is the reader's business. */
export async function readOutputs(db: Db, { sessionId, afterSeq, limit, kinds }: OutputQuery): Promise<Output[]> {
  const following = db
    .selectFrom('outputs')
    .select(['seq', 'at_ms', 'body'])
    .where('session_id', '=', sessionId)
    .where('seq', '>', afterSeq)
    .orderBy('seq')
    .limit(limit);
  const wanted = kinds && [...new Set<string>([...kinds, ...UNFILTERABLE_KINDS])];
  const rows = await (wanted ? following.where('kind', 'in', wanted) : following).execute();
  return rows.map((row) => withDefaults({ ...fromColumn<Output>(row.body), seq: row.seq, atMs: row.at_ms }));
}

/** What the completed calls of a turn said, in order. */
export async function turnTexts(tx: Tx, sessionId: string, turnId: string): Promise<string[]> {
  const rows = await tx
    .selectFrom('outputs')
    .select('body')
    .where('session_id', '=', sessionId)
    .where('turn_id', '=', turnId)
    .where('kind', '=', sql.lit('TextOutput')) // literal: a parameter would not match the partial index
    .orderBy('seq')
    .execute();
  return rows.map((row) => fromColumn<{ text: string }>(row.body).text).filter((text) => text !== '');
}
