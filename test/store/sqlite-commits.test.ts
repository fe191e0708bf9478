import type Database from 'better-sqlite3';
import { KyselySessionStore } from '../../store/kysely-session-store.js';
import { StaleTryError, StoreUnavailableError } from '../../store/session-store.js';
import { openSqliteTransactor } from '../../store/sqlite/open-sqlite.js';
import {
  aBegin,
  aDelta,
  aFinish,
  aNotice,
  aRecord,
  aTool,
  begunBase,
  journal,
  SESSION,
  toRef,
} from '../support/store-builders.js';
import { aStoreFile } from '../support/store-files.js';

describe('commits of the SQLite store', () => {
  let file: Awaited<ReturnType<typeof aStoreFile>>;
  let store: KyselySessionStore;
  let database: Database.Database;
  let ran: string[];
  beforeEach(async () => {
    file = await aStoreFile();
    const onConnect = (opened: Database.Database): void => {
      database = opened;
      ran = recordStatements(opened);
    };
    store = new KyselySessionStore(await openSqliteTransactor(file.location, onConnect));
  });
  afterEach(async () => {
    await store.close();
    await file.remove();
  });

  test('writes that are waiting together share a commit', async () => {
    ran.length = 0;
    await Promise.all(
      Array.from({ length: 10 }, (_, index) => store.record(aRecord({ outputs: [aNotice(`n${index}`)] }))),
    );
    expect(await journal(store)).toHaveLength(10);
    const commits = ran.filter((sql) => sql === 'commit').length;
    expect(commits).toBeGreaterThan(0);
    expect(commits).toBeLessThan(5);
  });

  test('a write that is refused takes none with it that shares its commit', async () => {
    await begunBase(store, aBegin({ attempt: 2 }));
    const stale = aBegin({ attempt: 1 });
    const results = await Promise.allSettled([
      store.record(aRecord({ outputs: [aNotice('before')] })),
      store.appendTryOutputs(toRef(stale), [aDelta(stale, 0)]),
      store.record(aRecord({ outputs: [aNotice('after')] })),
    ]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: expect.any(StaleTryError) });
    expect((await journal(store)).map((output) => output.seq)).toEqual([1, 2, 3]);
  });

  test('every commit is made durable against a loss of power', () => {
    expect(database.pragma('synchronous', { simple: true })).toBe(2);
    expect(database.pragma('journal_mode', { simple: true })).toBe('wal');
  });

  test('a full disk refuses the write with the remedy, leaves nothing of it, and is over once there is space', async () => {
    await store.record(aRecord({ outputs: [aNotice('n1')] }));
    const pages = Number(database.pragma('page_count', { simple: true }));
    database.pragma(`max_page_count = ${pages + 2}`);
    const large = aRecord({ outputs: [aNotice('n2'), aNotice('large', 'x'.repeat(1_000_000))] });
    await expect(store.record(large)).rejects.toThrow(StoreUnavailableError);
    await expect(store.record(large)).rejects.toThrow(/store\.sqlite cannot grow: .* Free some space/);
    expect(await journal(store)).toHaveLength(1);
    database.pragma(`max_page_count = ${pages + 1_000}`);
    await store.record(large);
    expect((await journal(store)).map((output) => output.seq)).toEqual([1, 2, 3]);
  });

  test('closing finishes the writes that were accepted, and refuses later ones', async () => {
    const accepted = store.record(aRecord());
    const closed = store.close();
    await expect(store.record(aRecord())).rejects.toThrow(StoreUnavailableError);
    await expect(store.findSession(SESSION)).rejects.toThrow(/was closed/);
    await accepted;
    await closed;
    store = new KyselySessionStore(await openSqliteTransactor(file.location));
    expect(await store.findSession(SESSION)).toMatchObject({ status: 'idle' });
  });

  /** P10: the cost of a turn must not grow with the session. */
  test('no statement of a turn reads through a table or through all of a session', async () => {
    ran.length = 0;
    const begin = aBegin();
    const base = await begunBase(store, begin);
    await store.appendTryOutputs(toRef(begin), [aDelta(begin, 0)]);
    const again = aBegin({ attempt: 2 });
    await begunBase(store, again);
    await store.finishTry(aFinish(again, base));
    await store.beginTool(aTool());
    await store.finishTool({ ...aTool(), result: { ok: true, output: '' } });
    await begunBase(store, aBegin({ callId: 't1/c2', head: 't1/c1.out', append: [] }));
    await store.openTasks();
    await store.transcript(SESSION, base);
    await store.record(aRecord({ outcomes: [{ ...anEnd, turnId: 't1' }] }));
    await store.readOutputs({ sessionId: SESSION, afterSeq: 3, limit: 10 });
    const plans = [...new Set(ran)].flatMap((sql) => planOf(database, sql).map((step) => `${step} <- ${sql}`));
    expect(plans.length).toBeGreaterThan(15);
    expect(plans.filter((plan) => READS_TOO_MUCH.test(plan))).toEqual([]);
  });
});

/** A scan of a table (the recursive `chain` is read once, and the registry whole), or a search of a growing table by nothing but the session. */
const READS_TOO_MUCH = /^SCAN (?!chain|\S+ USING INDEX \S+_open)|^SEARCH (?!sessions)\S+ USING .*\(session_id=\?\)/;

const anEnd = {
  outcome: 'completed' as const,
  reason: null,
  source: { kind: 'message' as const, key: 'm1' },
  silent: false,
  usage: { uncachedInputTokens: 1, cacheReadTokens: 1, cacheWriteTokens: 1, outputTokens: 1, reasoningTokens: 1 },
  startedAtMs: 1,
  endedAtMs: 2,
};

/** Every statement that runs from now on: prepared ones are kept and run again, so their runs are watched. */
function recordStatements(database: Database.Database): string[] {
  const seen: string[] = [];
  const prepare = database.prepare.bind(database);
  database.prepare = ((sql: string) => watched(prepare(sql), () => seen.push(sql))) as typeof database.prepare;
  return seen;
}

function watched(statement: Database.Statement, onRun: () => void): Database.Statement {
  for (const method of ['run', 'all'] as const) {
    const original = statement[method].bind(statement) as (...parameters: unknown[]) => unknown;
    Object.assign(statement, {
      [method]: (...parameters: unknown[]) => {
        onRun();
        return original(...parameters);
      },
    });
  }
  return statement;
}

function planOf(database: Database.Database, sql: string): string[] {
  if (!/^(select|update|insert|with)/.test(sql)) return [];
  const rows = database.prepare(`explain query plan ${sql}`).all(sql.match(/\?/g)?.map(() => null) ?? []);
  return (rows as { detail: string }[]).map((row) => row.detail);
}
