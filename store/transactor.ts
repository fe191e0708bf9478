import type { Db, Tx } from './schema.js';

/**
 * What an adapter gives the query layer: a database that takes portable kysely queries, and how its transactions behave.
 *
 * T1 `write` runs its work in one transaction; the promise resolves only after the commit is durable.
 * T2 A write may be tried again from its start when the database was locked, so the work changes nothing but the database.
 * T3 Failures of the storage itself arrive as `StoreUnavailableError`; what the work throws arrives as it was thrown.
 */
export interface Transactor {
  /** For a single statement: several would not see one state of the data. */
  read<T>(query: (db: Db) => Promise<T>): Promise<T>;
  write<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** Finishes the writes that were accepted; later ones are refused. */
  close(): Promise<void>;
}
