import { type Kysely, type Migration, Migrator, sql } from 'kysely';
import { StoreOpenError } from '../session-store.js';
import { MIGRATIONS } from './migrations.js';

export interface MigrateOptions {
  /** What the store is called in messages: its file or address. */
  store: string;
  /** Other than the program's own only in tests. */
  migrations?: Readonly<Record<string, Migration>>;
}

/**
 * Brings a store to this program's schema, or refuses one that a newer program wrote.
 * An up-to-date store is only read, so opening needs no lock. Processes that open an old store together take turns:
 * the adapter must run DDL inside its transactions, and the migrator looks again inside its own.
 */
export async function migrate<T>(db: Kysely<T>, { store, migrations = MIGRATIONS }: MigrateOptions): Promise<void> {
  const known = Object.keys(migrations);
  const done = await migrationsDone(db);
  const newer = done.filter((name) => !known.includes(name)).sort();
  if (newer.length > 0) throw newerStore(store, newer);
  if (known.every((name) => done.includes(name))) return;
  const migrator = new Migrator({
    db,
    provider: { getMigrations: () => Promise.resolve({ ...migrations }) },
    // The migrator orders by the time that each was run at: a clock set back would make it call a good store corrupt.
    allowUnorderedMigrations: true,
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
}

async function migrationsDone<T>(db: Kysely<T>): Promise<string[]> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some((table) => table.name === 'kysely_migration')) return [];
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db);
  return rows.map((row) => row.name);
}

/** Names are numbered, so the newest is the last by name. */
export async function newestMigration<T>(db: Kysely<T>): Promise<string> {
  return (await migrationsDone(db)).sort().at(-1) ?? 'none';
}

function newerStore(store: string, newer: string[]): StoreOpenError {
  return new StoreOpenError(
    `The session store ${store} was written by a newer version of this program (it has ${newer.join(', ')}). ` +
      `Upgrade this program to that version or later, or open another store.`,
  );
}
