import { type SessionStore, StoreOpenError } from './session-store.js';
import { openSqliteStore } from './sqlite/open-sqlite.js';

const URL_SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i;
const SQLITE_PREFIX = 'sqlite:';

/**
 * Opens the store that a location names: a path, or `sqlite:PATH`, is a SQLite file, created when there is none.
 * @throws StoreOpenError when it cannot be used; the message says what to do.
 */
export async function openStore(location: string): Promise<SessionStore> {
  const path = location.startsWith(SQLITE_PREFIX) ? location.slice(SQLITE_PREFIX.length) : location;
  const scheme = URL_SCHEME.exec(path)?.[1];
  if (scheme !== undefined) throw unsupported(scheme);
  if (path.trim() === '')
    throw new StoreOpenError('The location of the session store is empty. Give the path of a file.');
  if (path === ':memory:') {
    throw new StoreOpenError(
      'A session store must outlive its process: give the path of a file instead of ":memory:".',
    );
  }
  return openSqliteStore(path);
}

/** The location itself may hold a password, so it is not repeated. */
function unsupported(scheme: string): StoreOpenError {
  const postgres = /^postgres(ql)?$/i.test(scheme);
  return new StoreOpenError(
    postgres
      ? 'This version keeps sessions in SQLite only; Postgres comes with a later one. Give the path of a file.'
      : `"${scheme}://" is not a kind of session store that this program knows. Give the path of a file.`,
  );
}
