import type { Kysely, Migration } from 'kysely';

/** What tries showed before they ended, and what of it was thrown away. */
export const evidence: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema.alterTable('sessions').addColumn('last_input_tokens', 'bigint').execute();
    const tries = db.schema.alterTable('tries');
    await tries.addColumn('phase', 'text').execute();
    await tries.addColumn('chars_received', 'bigint', (column) => column.notNull().defaultTo(0)).execute();
    await tries.addColumn('first_token_ms', 'bigint').execute();
    await tries.addColumn('estimated_input_tokens', 'bigint').execute();
    await tries.addColumn('link', 'integer', (column) => column.notNull().defaultTo(0)).execute();
    await tries.addColumn('refused', 'integer', (column) => column.notNull().defaultTo(0)).execute();
    const outcomes = db.schema.alterTable('outcomes');
    await outcomes.addColumn('discards', 'text').execute();
    await outcomes.addColumn('stall', 'text').execute();
  },
};
