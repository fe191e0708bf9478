import type { SqliteDatabase, SqliteStatement } from 'kysely';

/** More than the query layer's distinct statements; only inserts of many rows and long key lists come in many lengths. */
const CACHED_STATEMENTS = 200;

/**
 * Keeps prepared statements, because kysely prepares every query anew, which costs more than running it.
 * A statement is never in use twice at once: the driver has one connection and no query of this layer is streamed.
 */
export function withStatementCache(database: SqliteDatabase): SqliteDatabase {
  const statements = new Map<string, SqliteStatement>();
  return {
    close: () => database.close(),
    prepare(sql) {
      const cached = statements.get(sql);
      if (cached) return cached;
      const statement = database.prepare(sql);
      statements.set(sql, statement);
      if (statements.size > CACHED_STATEMENTS) dropOldest(statements);
      return statement;
    },
  };
}

/** The oldest may be a hot one: it is prepared again and is then the newest. */
function dropOldest(statements: Map<string, SqliteStatement>): void {
  for (const sql of statements.keys()) {
    statements.delete(sql);
    return;
  }
}
