import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { KyselySessionStore } from '../kysely-session-store.js';
import { migrate } from '../migrations/migrate.js';
import { type SessionStore, StoreOpenError } from '../session-store.js';
import { BUSY_TIMEOUT_MS, untilUnlocked } from './lock-wait.js';
import { SqliteTransactor } from './sqlite-transactor.js';
import { toOpenError } from './storage-errors.js';

/** After a burst (a large image) the write-ahead log shrinks back to this. */
const WAL_FILE_BYTES = 64 * 1024 * 1024;

/** Opens a store file, creating and migrating it as needed. @throws StoreOpenError, with the remedy */
export async function openSqliteStore(path: string): Promise<SessionStore> {
  const file = resolve(path);
  const transactor = await openSqliteTransactor(file);
  return new KyselySessionStore(transactor);
}

/** The part below the query layer; tests reach the connection through `onConnect`. */
export async function openSqliteTransactor(
  file: string,
  onConnect?: (database: Database.Database) => void,
): Promise<SqliteTransactor> {
  let database: Database.Database | undefined;
  try {
    const connected = (database = connect(file));
    await untilUnlocked(() => Promise.resolve().then(() => configure(connected, file)));
    onConnect?.(connected);
    const transactor = new SqliteTransactor(connected, file);
    await untilUnlocked(() => migrate(transactor.db, { store: file }));
    return transactor;
  } catch (error) {
    database?.close();
    throw toOpenError(error, file);
  }
}

function connect(file: string): Database.Database {
  if (!existsSync(dirname(file))) {
    throw new StoreOpenError(
      `The session store ${file} cannot be created: its directory does not exist. Create it first.`,
    );
  }
  return new Database(file, { timeout: BUSY_TIMEOUT_MS });
}

function configure(database: Database.Database, file: string): void {
  refuseForeignDatabase(database, file);
  const mode = database.pragma('journal_mode = wal', { simple: true });
  if (mode !== 'wal') {
    throw new StoreOpenError(
      `The session store ${file} lies on a file system without shared memory (a network share?). Put it on a local disk.`,
    );
  }
  // Every commit survives a power loss: Temporal remembers heads and results that must then still be here,
  // and readers remember a `seq` that must never be given twice (I4).
  database.pragma('synchronous = full');
  database.pragma('foreign_keys = off');
  database.pragma(`journal_size_limit = ${WAL_FILE_BYTES}`);
}

/** Before anything is changed: a mistyped path must not turn another program's database into a store. */
function refuseForeignDatabase(database: Database.Database, file: string): void {
  const tables = database.prepare(`select name from sqlite_master where type = 'table'`).pluck().all();
  if (tables.length === 0 || tables.includes('kysely_migration')) return;
  throw new StoreOpenError(
    `${file} is the SQLite database of another program (it has the table "${String(tables[0])}"). Name another file for the session store.`,
  );
}
