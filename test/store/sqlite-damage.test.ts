import { chmod, open, rename, rm, writeFile } from 'node:fs/promises';
import Database from 'better-sqlite3';
import { openStore } from '../../store/open-store.js';
import { StoreOpenError, StoreUnavailableError } from '../../store/session-store.js';
import { aNotice, aRecord, journal, SESSION } from '../support/store-builders.js';
import { aStoreFile } from '../support/store-files.js';
import { startStoreProcess } from '../support/store-processes.js';

const PAGE_BYTES = 4_096;
const NOBODY = 65_534;

describe('a store file that cannot be used', () => {
  let file: Awaited<ReturnType<typeof aStoreFile>>;
  beforeEach(async () => {
    file = await aStoreFile();
  });
  afterEach(() => file.remove());

  async function filled(): Promise<void> {
    const store = await openStore(file.location);
    await store.record(aRecord({ outputs: Array.from({ length: 200 }, (_, index) => aNotice(`n${index}`)) }));
    await store.close();
  }

  async function expectRefused(why: RegExp): Promise<void> {
    const opening = openStore(file.location);
    await expect(opening).rejects.toThrow(StoreOpenError);
    await expect(opening).rejects.toThrow(file.location);
    await expect(opening).rejects.toThrow(why);
  }

  test('a file that is no database is refused, and left as it is', async () => {
    await writeFile(file.location, 'not a database, but quite long enough to be taken for one by its size'.repeat(100));
    await expectRefused(/is not a session store, or its first page is damaged.*restore the file from a backup/);
  });

  test('a damaged first page is refused', async () => {
    await filled();
    await overwrite(file.location, 0, 100);
    await expectRefused(/restore the file from a backup/);
  });

  test('a damaged schema page is refused', async () => {
    await filled();
    await overwrite(file.location, 100, PAGE_BYTES - 100);
    await expectRefused(/is damaged\. .*restore it from a backup/);
  });

  test('a damaged page in the middle fails what needs it, and nothing else', async () => {
    await filled();
    const database = new Database(file.location);
    const root = database.prepare(`select rootpage from sqlite_master where name = 'outputs'`).pluck().get() as number;
    database.close();
    await overwrite(file.location, (root - 1) * PAGE_BYTES, PAGE_BYTES);
    const store = await openStore(file.location);
    await expect(journal(store)).rejects.toThrow(StoreUnavailableError);
    await expect(journal(store)).rejects.toThrow(/is damaged.*sqlite3 .*store\.sqlite \.recover/);
    const writing = store.record(aRecord({ sessionId: 'acme/s2', outputs: [aNotice('n1')] }));
    await expect(writing).rejects.toThrow(StoreUnavailableError);
    expect(await store.findSession('acme/s2')).toBeNull();
    await store.record(aRecord({ status: 'suspended' }));
    expect(await store.findSession(SESSION)).toMatchObject({ status: 'suspended' });
    await store.close();
  });

  test('a directory is refused', async () => {
    const opening = openStore(file.directory);
    await expect(opening).rejects.toThrow(StoreOpenError);
    await expect(opening).rejects.toThrow(/cannot be opened. Check that its path names a file/);
  });

  test('a missing directory is named, not made', async () => {
    await expect(openStore(`${file.directory}/missing/store.sqlite`)).rejects.toThrow(/its directory does not exist/);
  });

  test('the database of another program is refused, and left as it is', async () => {
    const other = new Database(file.location);
    other.exec('create table customers (id integer primary key)');
    other.close();
    await expectRefused(/database of another program \(it has the table "customers"\)/);
    const after = new Database(file.location, { readonly: true });
    expect(after.pragma('journal_mode', { simple: true })).toBe('delete');
    expect(after.prepare('select name from sqlite_master').pluck().all()).toEqual(['customers']);
    after.close();
  });

  (process.getuid?.() === 0 ? test : test.skip)('a file that this user may not write is refused', async () => {
    await filled(); // root may write everything, so the opener runs as nobody
    await chmod(file.directory, 0o755);
    await chmod(file.location, 0o644);
    const opener = startStoreProcess('store-opener.ts', [file.location], { uid: NOBODY });
    await opener.ended;
    expect(opener.lines).toEqual([expect.stringMatching(/^StoreOpenError: .*store\.sqlite (cannot be|may not be)/)]);
  });

  test('a file that is deleted while it is open takes no more writes into nowhere', async () => {
    const store = await openStore(file.location);
    await store.record(aRecord());
    await rm(file.location);
    await expect(store.record(aRecord())).rejects.toThrow(StoreUnavailableError);
    await expect(store.findSession(SESSION)).rejects.toThrow(/was moved, deleted or replaced while it was open/);
    await store.close();
  });

  test('a file that is moved away and back is used again', async () => {
    const store = await openStore(file.location);
    await rename(file.location, `${file.location}.away`);
    await expect(store.record(aRecord())).rejects.toThrow(StoreUnavailableError);
    await rename(`${file.location}.away`, file.location);
    await store.record(aRecord());
    expect(await store.findSession(SESSION)).not.toBeNull();
    await store.close();
  });
});

async function overwrite(path: string, from: number, bytes: number): Promise<void> {
  const handle = await open(path, 'r+');
  await handle.write(Buffer.alloc(bytes, 0xa5), 0, bytes, from);
  await handle.close();
}
