import type { Kysely, Migration } from 'kysely';
import { sql } from 'kysely';

/** A migration is written once and never edited: stores in the field have run it. Hence no use of today's `Schema`. */
type AnyDb = Kysely<unknown>;

export const sessions: Migration = {
  async up(db: AnyDb) {
    await createSessions(db);
    await createTranscript(db);
    await createJournal(db);
    await createCalls(db);
    await createTurns(db);
    await createBlobs(db);
  },
};

async function createSessions(db: AnyDb): Promise<void> {
  await db.schema
    .createTable('sessions')
    .addColumn('session_id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('agent', 'text', (column) => column.notNull())
    .addColumn('chain', 'text', (column) => column.notNull())
    .addColumn('chain_base', 'text')
    .addColumn('head', 'text')
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('queued', 'integer', (column) => column.notNull())
    .addColumn('turns', 'integer', (column) => column.notNull())
    .addColumn('last_seq', 'bigint', (column) => column.notNull())
    .addColumn('last_outcome', 'text')
    .addColumn('last_turn_started_at_ms', 'bigint')
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('updated_at_ms', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('sessions_by_activity').on('sessions').columns(['updated_at_ms']).execute();
  await db.schema.createIndex('sessions_by_tenant').on('sessions').columns(['tenant', 'updated_at_ms']).execute();
  // Chains that a newer one replaced: what still runs in them is refused.
  await db.schema
    .createTable('ended_chains')
    .addColumn('session_id', 'text', (column) => column.notNull())
    .addColumn('chain', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('ended_chains_key', ['session_id', 'chain'])
    .execute();
}

async function createTranscript(db: AnyDb): Promise<void> {
  await db.schema
    .createTable('entries')
    .addColumn('session_id', 'text', (column) => column.notNull())
    .addColumn('entry_id', 'text', (column) => column.notNull())
    .addColumn('parent_id', 'text')
    .addColumn('content', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('entries_key', ['session_id', 'entry_id'])
    .execute();
}

async function createJournal(db: AnyDb): Promise<void> {
  await db.schema
    .createTable('outputs')
    .addColumn('session_id', 'text', (column) => column.notNull())
    .addColumn('seq', 'bigint', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('turn_id', 'text')
    .addColumn('at_ms', 'bigint', (column) => column.notNull())
    .addColumn('body', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('outputs_key', ['session_id', 'seq'])
    .addUniqueConstraint('outputs_once', ['session_id', 'key'])
    .execute();
  // The texts of one turn, however long the session's journal has grown (P10).
  await sql`create index outputs_texts on outputs (session_id, turn_id, seq) where kind = 'TextOutput'`.execute(db);
}

async function createCalls(db: AnyDb): Promise<void> {
  await db.schema
    .createTable('calls')
    .addColumn('session_id', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('turn_id', 'text', (column) => column.notNull())
    .addColumn('newest_dispatch', 'integer', (column) => column.notNull())
    .addColumn('newest_attempt', 'integer', (column) => column.notNull())
    .addColumn('input_hash', 'text', (column) => column.notNull())
    .addColumn('base', 'text')
    .addColumn('result', 'text')
    .addColumn('closed', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('calls_key', ['session_id', 'call_id'])
    .execute();
  await db.schema.createIndex('calls_by_turn').on('calls').columns(['session_id', 'turn_id']).execute();
  await db.schema
    .createTable('tries')
    .addColumn('session_id', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('dispatch', 'integer', (column) => column.notNull())
    .addColumn('attempt', 'integer', (column) => column.notNull())
    .addColumn('worker_instance', 'text', (column) => column.notNull())
    .addColumn('task_token', 'text', (column) => column.notNull())
    .addColumn('started_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('ended_at_ms', 'bigint')
    .addColumn('streamed', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('tries_key', ['session_id', 'call_id', 'dispatch', 'attempt'])
    .execute();
  await db.schema
    .createTable('tool_runs')
    .addColumn('session_id', 'text', (column) => column.notNull())
    .addColumn('tool_call_id', 'text', (column) => column.notNull())
    .addColumn('turn_id', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('attempt', 'integer', (column) => column.notNull())
    .addColumn('worker_instance', 'text', (column) => column.notNull())
    .addColumn('task_token', 'text', (column) => column.notNull())
    .addColumn('started_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('ended_at_ms', 'bigint')
    .addColumn('result', 'text')
    .addPrimaryKeyConstraint('tool_runs_key', ['session_id', 'tool_call_id'])
    .execute();
  // The registry is what has not ended, few among all that ever ran.
  await sql`create index tries_open on tries (session_id, call_id) where ended_at_ms is null`.execute(db);
  await sql`create index tool_runs_open on tool_runs (session_id, tool_call_id) where ended_at_ms is null`.execute(db);
}

async function createTurns(db: AnyDb): Promise<void> {
  await db.schema
    .createTable('items')
    .addColumn('session_id', 'text', (column) => column.notNull())
    .addColumn('item_id', 'text', (column) => column.notNull())
    .addColumn('turn_id', 'text')
    .addColumn('fate', 'text', (column) => column.notNull())
    .addColumn('content_hash', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('items_key', ['session_id', 'item_id'])
    .execute();
  await db.schema
    .createTable('outcomes')
    .addColumn('session_id', 'text', (column) => column.notNull())
    .addColumn('turn_id', 'text', (column) => column.notNull())
    .addColumn('outcome', 'text', (column) => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('source', 'text', (column) => column.notNull())
    .addColumn('silent', 'integer', (column) => column.notNull())
    .addColumn('segments', 'text', (column) => column.notNull())
    .addColumn('usage', 'text', (column) => column.notNull())
    .addColumn('started_at_ms', 'bigint', (column) => column.notNull())
    .addColumn('ended_at_ms', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('outcomes_key', ['session_id', 'turn_id'])
    .execute();
}

async function createBlobs(db: AnyDb): Promise<void> {
  // `bytea` is Postgres' word; SQLite keeps bytes as they are whatever a column's type is called.
  await db.schema
    .createTable('blobs')
    .addColumn('ref', 'text', (column) => column.primaryKey())
    .addColumn('media_type', 'text', (column) => column.notNull())
    .addColumn('bytes', 'bytea', (column) => column.notNull())
    .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
    .execute();
}
