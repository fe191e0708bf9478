import type { Kysely, Migration } from 'kysely';

/** One row a supervisor of workers: who it is, and a counter that stands still when it does. */
export const leases: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('leases')
      .addColumn('lease_id', 'text', (column) => column.primaryKey())
      .addColumn('supervisor', 'text', (column) => column.notNull())
      .addColumn('namespace', 'text', (column) => column.notNull())
      .addColumn('task_queue', 'text', (column) => column.notNull())
      .addColumn('worker', 'text')
      .addColumn('renewals', 'bigint', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('taken_by', 'text')
      .addColumn('created_at_ms', 'bigint', (column) => column.notNull())
      .execute();
  },
};
