import type { Kysely, Migration } from 'kysely';

export const stopAndDrain: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('drains')
      .addColumn('session_id', 'text', (column) => column.notNull())
      .addColumn('chain', 'text', (column) => column.notNull())
      .addColumn('change', 'integer', (column) => column.notNull())
      .addColumn('draining', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('drains_key', ['session_id', 'chain'])
      .execute();
    await db.schema
      .alterTable('tries')
      .addColumn('began_at_seq', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute();
    await db.schema.alterTable('outcomes').addColumn('partial', 'text').execute();
  },
};
