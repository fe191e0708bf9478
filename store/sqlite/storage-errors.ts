import { StoreOpenError, StoreUnavailableError } from '../session-store.js';

const LOCKED = 'is locked by another process. Stop whatever holds it: a backup, an open sqlite3 shell, a hung process';

/**
 * What SQLite's own failures mean for the operator. Other codes (a violated constraint, a wrong statement) are bugs of this layer
 * and pass as they are. Read by code, never by class: a process may hold two copies of the driver.
 */
const MEANINGS: readonly (readonly [code: string, meaning: string])[] = [
  ['SQLITE_BUSY', LOCKED],
  ['SQLITE_LOCKED', LOCKED],
  ['SQLITE_PROTOCOL', LOCKED],
  ['SQLITE_FULL', 'cannot grow: the disk or its quota is full. Free some space'],
  [
    'SQLITE_CORRUPT',
    'is damaged. Stop every process that uses it and restore it from a backup, or salvage it with: sqlite3 FILE .recover',
  ],
  [
    'SQLITE_NOTADB',
    'is not a session store, or its first page is damaged. Check the path, or restore the file from a backup',
  ],
  ['SQLITE_READONLY', 'cannot be written. Give this user write access to the file and to its directory'],
  ['SQLITE_PERM', 'may not be opened by this user. Give it read and write access to the file and to its directory'],
  [
    'SQLITE_CANTOPEN',
    'cannot be opened. Check that its path names a file in an existing directory that this user may write',
  ],
  ['SQLITE_IOERR', 'cannot be read or written: the disk reports an I/O error. Check the disk and its file system'],
  ['SQLITE_NOMEM', 'needs more memory than this process can get'],
];

export function isLocked(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED|PROTOCOL)/.test(sqliteCode(error));
}

/** A storage failure as callers know it; anything else as it is. */
export function toUnavailable(error: unknown, file: string): unknown {
  const message = explain(error, file);
  return message === null ? error : new StoreUnavailableError(message, { cause: error });
}

/** The same for the time of opening, where there is nothing to wait for. */
export function toOpenError(error: unknown, file: string): unknown {
  const message = explain(error, file);
  return message === null ? error : new StoreOpenError(message, { cause: error });
}

function explain(error: unknown, file: string): string | null {
  const code = sqliteCode(error);
  const meaning = MEANINGS.find(([prefix]) => code.startsWith(prefix))?.[1];
  return meaning === undefined ? null : `The session store ${file} ${meaning.replace('FILE', file)}. (${code})`;
}

function sqliteCode(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}
