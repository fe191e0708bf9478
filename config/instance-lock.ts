/**
 * Who runs in a data directory. Purpose: at most one instance per folder, known without trusting any file's content.
 *
 * I1. The operating system holds the lock (a byte-range lock taken by SQLite), so `kill -9` frees it and nothing goes stale.
 * I2. A holder keeps an EXCLUSIVE transaction open and never writes, and keeps no journal, so there is nothing to recover.
 * I3. A probe takes a SHARED lock, read-only, for an instant and never waits; a taker waits longer than any probe lasts,
 *     so probing cannot make a starter fail.
 * I4. The pid file beside the lock only serves messages; it is never evidence that somebody runs.
 */
import Database from 'better-sqlite3';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TAKER_WAIT_MS = 300;

export interface InstanceLock {
  release(): void;
}

export interface LockHolder {
  /** `null` when the holder has not written its pid yet. */
  readonly heldBy: number | null;
}

export function takeInstanceLock(dataDir: string): InstanceLock | LockHolder {
  // Transcripts are nobody else's business.
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const database = new Database(lockPath(dataDir), { timeout: TAKER_WAIT_MS });
  try {
    // No journal file: a killed holder's would make SQLite want to write where a probe may only read.
    database.pragma('journal_mode = memory');
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (isBusy(error)) return { heldBy: readPid(dataDir) };
    throw error;
  }
  writeFileSync(pidPath(dataDir), `${process.pid}\n`);
  return {
    release() {
      rmSync(pidPath(dataDir), { force: true });
      database.close();
    },
  };
}

/** Tells who holds the lock of this folder, or `null` when nobody does. Never creates a file. */
export function findLockHolder(dataDir: string): LockHolder | null {
  let database: Database.Database | undefined;
  try {
    database = new Database(lockPath(dataDir), { timeout: 0, readonly: true, fileMustExist: true });
    database.prepare('SELECT count(*) FROM sqlite_master').get();
    return null;
  } catch (error) {
    if (isBusy(error)) return { heldBy: readPid(dataDir) };
    if (isMissing(error)) return null;
    throw error;
  } finally {
    database?.close();
  }
}

function lockPath(dataDir: string): string {
  return join(dataDir, 'instance.lock.db');
}

function pidPath(dataDir: string): string {
  return join(dataDir, 'instance.pid');
}

function readPid(dataDir: string): number | null {
  try {
    const pid = Number.parseInt(readFileSync(pidPath(dataDir), 'utf8'), 10);
    return Number.isSafeInteger(pid) ? pid : null;
  } catch {
    return null;
  }
}

function isBusy(error: unknown): boolean {
  return codeOf(error).startsWith('SQLITE_BUSY');
}

// better-sqlite3 reports a missing folder with a plain TypeError and a missing file with SQLITE_CANTOPEN.
function isMissing(error: unknown): boolean {
  return (error as Partial<Error> | null)?.name === 'TypeError' || codeOf(error) === 'SQLITE_CANTOPEN';
}

/** By code, not by class: where the native module was loaded twice, its errors are of the other copy's classes. */
function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code);
}
