import { type Kysely, type Migration, sql } from 'kysely';

/** What goes to channels: one row a delivery, kept for a while after its end so that a repeat finds it. */
export const deliveries: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('deliveries')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('channel', 'text', (column) => column.notNull())
      .addColumn('session_id', 'text', (column) => column.notNull())
      .addColumn('subject', 'text', (column) => column.notNull())
      .addColumn('part', 'text', (column) => column.notNull())
      .addColumn('notice', 'text')
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .addColumn('since_ms', 'bigint', (column) => column.notNull())
      .addColumn('due_ms', 'bigint', (column) => column.notNull())
      .addColumn('problem', 'text')
      .addColumn('updated_at_ms', 'bigint', (column) => column.notNull())
      .execute();
    // Few among all that were ever delivered, and asked for every second.
    await sql`create index deliveries_pending on deliveries (channel, due_ms) where state = 'pending'`.execute(db);
    await db.schema.createIndex('deliveries_ended').on('deliveries').columns(['state', 'updated_at_ms']).execute();
  },
};
