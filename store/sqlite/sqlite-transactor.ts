import { statSync } from 'node:fs';
import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import { Kysely } from 'kysely';
import type { Db, Schema, Tx } from '../schema.js';
import { StoreUnavailableError } from '../session-store.js';
import type { Transactor } from '../transactor.js';
import { LOCK_WAIT_MS, pauseBetweenAttempts, untilUnlocked } from './lock-wait.js';
import { sqliteDialect } from './sqlite-dialect.js';
import { isLocked, toUnavailable } from './storage-errors.js';

/** Bounds how long one commit holds the event loop: a write costs well under a millisecond. */
const WRITES_PER_COMMIT = 32;

interface Write {
  work: (tx: Tx) => Promise<unknown>;
  waitingSinceMs: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

type Done = { write: Write; value: unknown } | { write: Write; error: unknown };

/**
 * SQLite's transactions. The database is synchronous and has one writer, so this decides who waits for what.
 *
 * W1 Writes of this process stand in one line, so only one of them waits for other processes at a time.
 * W2 Writes that stand in line together share one commit and its fsync; each has its own savepoint, so one that throws takes none with it.
 * W3 A write is answered after the commit. When the commit fails, all that shared it fail.
 * W4 The event loop turns between two commits and between two attempts to get the lock.
 * W5 A write gives up when for `LOCK_WAIT_MS` since it came no write of this process got through: a long line that moves is no failure.
 */
export class SqliteTransactor implements Transactor {
  readonly db: Db;
  readonly #database: Database.Database;
  readonly #file: string;
  readonly #fileId: string | null;
  #line: Write[] = [];
  #working: Promise<void> | null = null;
  #lastCommitMs = 0;
  #closed = false;

  constructor(database: Database.Database, file: string) {
    this.#database = database;
    this.#file = file;
    this.#fileId = fileId(file);
    this.db = new Kysely<Schema>({ dialect: sqliteDialect(database) });
  }

  async read<T>(query: (db: Db) => Promise<T>): Promise<T> {
    this.#requireOpen();
    try {
      this.#requireSameFile();
      return await untilUnlocked(() => query(this.db));
    } catch (error) {
      throw toUnavailable(error, this.#file);
    }
  }

  async write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    this.#requireOpen();
    const value = await new Promise((resolve, reject) => {
      this.#line.push({ work, waitingSinceMs: performance.now(), resolve, reject });
      this.#working ??= this.#workOff();
    });
    return value as T; // The line holds writes of every type; each resolves with what its own work returned.
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#working;
    await this.db.destroy();
  }

  /** Never rejects: every failure belongs to a write. */
  async #workOff(): Promise<void> {
    while (this.#line.length > 0) {
      await eventLoopTurn(); // W4; also lets writes of the same moment gather (W2)
      const batch = this.#line.slice(0, WRITES_PER_COMMIT);
      try {
        const done = await this.#commit(batch);
        this.#leaveLine(batch);
        this.#lastCommitMs = performance.now();
        done.forEach((each) => this.#answer(each));
      } catch (error) {
        await this.#onFailedCommit(batch, error);
      }
    }
    this.#working = null;
  }

  #commit(batch: Write[]): Promise<Done[]> {
    this.#requireSameFile();
    return this.db.transaction().execute(async (tx) => {
      const done: Done[] = [];
      for (const write of batch) done.push(await this.#runSaved(tx, write));
      return done;
    });
  }

  /** W2. When SQLite has rolled back the whole transaction by itself, the others of the batch are lost too and the commit fails. */
  async #runSaved(tx: Tx, write: Write): Promise<Done> {
    this.#database.exec('savepoint one_write');
    try {
      const value = await write.work(tx);
      this.#database.exec('release one_write');
      return { write, value };
    } catch (error) {
      if (!this.#database.inTransaction) throw error;
      this.#database.exec('rollback to one_write; release one_write');
      return { write, error };
    }
  }

  async #onFailedCommit(batch: Write[], error: unknown): Promise<void> {
    const failed = isLocked(error) ? this.#line.filter((write) => this.#hasWaitedEnough(write)) : batch;
    this.#leaveLine(failed);
    failed.forEach((write) => this.#answer({ write, error }));
    if (isLocked(error)) await pauseBetweenAttempts();
  }

  #hasWaitedEnough(write: Write): boolean {
    return performance.now() - Math.max(write.waitingSinceMs, this.#lastCommitMs) > LOCK_WAIT_MS;
  }

  #leaveLine(leaving: Write[]): void {
    this.#line = this.#line.filter((write) => !leaving.includes(write));
  }

  #answer(done: Done): void {
    if ('error' in done) done.write.reject(toUnavailable(done.error, this.#file));
    else done.write.resolve(done.value);
  }

  #requireOpen(): void {
    if (this.#closed) throw new StoreUnavailableError(`The session store ${this.#file} was closed by this process.`);
  }

  /** SQLite goes on writing to a file that was deleted or replaced under it, and all of that would be lost. */
  #requireSameFile(): void {
    if (fileId(this.#file) === this.#fileId) return;
    throw new StoreUnavailableError(
      `The session store ${this.#file} was moved, deleted or replaced while it was open. ` +
        `Put the original file back (with its -wal file), or restart the processes that use it.`,
    );
  }
}

/** Names the file itself rather than its path; `null` when nothing is there. */
function fileId(file: string): string | null {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats ? `${stats.dev}:${stats.ino}` : null;
}
