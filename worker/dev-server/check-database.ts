import Database from 'better-sqlite3';
import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export class DatabaseUnusableError extends Error {
  override readonly name = 'DatabaseUnusableError';
}

/** Finds out before the server does, so that the message can name the file and the remedy. */
export function checkDatabase(dbPath: string): void {
  requireWritableFolder(dirname(dbPath));
  const file = statSync(dbPath, { throwIfNoEntry: false });
  if (file === undefined) return;
  try {
    accessSync(dbPath, constants.R_OK | constants.W_OK);
    readCatalogue(dbPath);
  } catch (error) {
    throw new DatabaseUnusableError(
      `${dbPath}, the Temporal server's database, cannot be used: ${(error as Error).message}.\n` +
        'Remedy: make it readable and writable for you, restore a copy of it, or move it away; ' +
        'without it the server starts empty: what was in flight is gone, transcripts stay in store.db.',
      { cause: error },
    );
  }
}

function readCatalogue(dbPath: string): void {
  const database = new Database(dbPath, { fileMustExist: true });
  try {
    database.prepare('SELECT count(*) FROM sqlite_master').get();
  } finally {
    database.close();
  }
}

export function requireWritableFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new DatabaseUnusableError(
      `the data directory ${folder} cannot be written: ${(error as Error).message}.\n` +
        'Remedy: make it writable, or choose another with --data-dir.',
      { cause: error },
    );
  }
}
