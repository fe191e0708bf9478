import Database from 'better-sqlite3';
import { Kysely, type Migration, sql } from 'kysely';
import { migrate } from '../../store/migrations/migrate.js';
import { MIGRATIONS } from '../../store/migrations/migrations.js';
import { openStore } from '../../store/open-store.js';
import { StoreOpenError } from '../../store/session-store.js';
import { sqliteDialect } from '../../store/sqlite/sqlite-dialect.js';
import { aBegin, aRecord, finishedCall, SESSION } from '../support/store-builders.js';
import { aStoreFile } from '../support/store-files.js';
import { startStoreProcess } from '../support/store-processes.js';

const NAMES = Object.keys(MIGRATIONS);
const NEXT: Record<string, Migration> = {
  '9999-next': { up: (db) => db.schema.alterTable('sessions').addColumn('colour', 'text').execute() },
};

describe('the schema of a store', () => {
  let file: Awaited<ReturnType<typeof aStoreFile>>;
  beforeEach(async () => {
    file = await aStoreFile();
  });
  afterEach(() => file.remove());

  /** Runs migrations as a program of another version would. */
  async function migrateTo(migrations: Record<string, Migration>): Promise<Database.Database> {
    const database = new Database(file.location);
    const db = new Kysely<unknown>({ dialect: sqliteDialect(database) });
    await migrate(db, { store: file.location, migrations });
    return database;
  }

  test('migrations are numbered in order', () => {
    expect([...NAMES].sort()).toEqual(NAMES);
    NAMES.forEach((name, index) => expect(name).toMatch(new RegExp(`^${String(index + 1).padStart(4, '0')}-`)));
  });

  test.each(NAMES.map((_, count) => count))(
    'a store that ran only the first %i is brought up to date',
    async (count) => {
      (await migrateTo(Object.fromEntries(Object.entries(MIGRATIONS).slice(0, count)))).close();
      const store = await openStore(file.location);
      await finishedCall(store, aBegin());
      expect(await store.findSession(SESSION)).not.toBeNull();
      await store.close();
    },
  );

  test('a new version adds its migration, keeps the data, and the old version then refuses the store', async () => {
    const store = await openStore(file.location);
    await finishedCall(store, aBegin());
    await store.close();
    const database = await migrateTo({ ...MIGRATIONS, ...NEXT });
    expect(database.prepare('select session_id, colour from sessions').all()).toEqual([
      { session_id: SESSION, colour: null },
    ]);
    database.close();

    const opening = openStore(file.location);
    await expect(opening).rejects.toThrow(StoreOpenError);
    await expect(opening).rejects.toThrow(
      /store\.sqlite was written by a newer version .*9999-next.*Upgrade this program/,
    );
  });

  test('a migration that fails leaves the store as it was', async () => {
    (await migrateTo(MIGRATIONS)).close();
    const failing: Migration = {
      async up(db) {
        await db.schema.createTable('half').addColumn('id', 'integer').execute();
        await sql`insert into nowhere values (1)`.execute(db);
      },
    };
    await expect(migrateTo({ ...MIGRATIONS, '9999-fails': failing })).rejects.toMatchObject({
      message: expect.stringContaining('nowhere'),
    });
    const store = await openStore(file.location);
    await store.close();
    const database = new Database(file.location);
    expect(database.prepare(`select count(*) from sqlite_master where name = 'half'`).pluck().get()).toBe(0);
    database.close();
  });

  test('a store whose clock was set back between two migrations is still a good store', async () => {
    const database = await migrateTo({ ...MIGRATIONS, ...NEXT });
    database
      .prepare(`update kysely_migration set timestamp = '1999-01-01T00:00:00.000Z' where name = '9999-next'`)
      .run();
    database.close();
    const after = await migrateTo({ ...MIGRATIONS, ...NEXT, '9999-other': { up: () => Promise.resolve() } });
    expect(after.prepare('select count(*) from kysely_migration').pluck().get()).toBe(NAMES.length + 2);
    after.close();
  });

  test('handles and processes that open a new file at once all get it', async () => {
    const openers = [1, 2, 3].map(() => startStoreProcess('store-opener.ts', [file.location]));
    await Promise.all(
      [1, 2, 3, 4].map(async () => {
        const store = await openStore(file.location);
        await store.record(aRecord());
        await store.close();
      }),
    );
    await Promise.all(openers.map((opener) => opener.ended));
    expect(openers.map((opener) => opener.lines)).toEqual([['ok'], ['ok'], ['ok']]);
    const database = new Database(file.location, { readonly: true });
    expect(database.prepare('select name from kysely_migration').pluck().all()).toEqual(NAMES);
    expect(database.pragma('integrity_check', { simple: true })).toBe('ok');
    database.close();
  }, 60_000);

  test('an up-to-date store opens while another process holds its write lock', async () => {
    await (await openStore(file.location)).close();
    const holder = new Database(file.location);
    holder.exec('begin immediate');
    const store = await openStore(file.location);
    expect(await store.listSessions({ limit: 1 })).toEqual([]);
    holder.close();
    await store.close();
  });
});
