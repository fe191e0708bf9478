import { type Kysely, type Migration, sql } from 'kysely';

/** Which tasks ended with their worker: an item that loses one worker after another is under suspicion. */
export const losses: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .alterTable('tries')
      .addColumn('lost', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
    const toolRuns = db.schema.alterTable('tool_runs');
    await toolRuns.addColumn('losses', 'integer', (column) => column.notNull().defaultTo(0)).execute();
    await toolRuns.addColumn('lost_token', 'text').execute();
    // Few among all that ever ran, and asked for every second.
    await sql`create index tries_lost on tries (session_id, call_id) where lost = 1`.execute(db);
    await sql`create index tool_runs_suspect on tool_runs (session_id, tool_call_id) where losses >= 2`.execute(db);
  },
};
