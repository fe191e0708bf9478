import type { Kysely, Migration } from 'kysely';

/** One row a provider's account that told its callers to come back later, until a call succeeds. */
export const accountGates: Migration = {
  async up(db: Kysely<unknown>) {
    await db.schema
      .createTable('account_gates')
      .addColumn('account', 'text', (column) => column.primaryKey())
      .addColumn('until_ms', 'bigint', (column) => column.notNull())
      .addColumn('wait_ms', 'bigint', (column) => column.notNull())
      .addColumn('failures', 'integer', (column) => column.notNull())
      .execute();
  },
};
