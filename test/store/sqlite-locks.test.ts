import Database from 'better-sqlite3';
import { openStore } from '../../store/open-store.js';
import { type SessionStore, StoreOpenError, StoreUnavailableError } from '../../store/session-store.js';
import { aBegin, aMessage, aNotice, aRecord, journal, SESSION } from '../support/store-builders.js';
import { aStoreFile } from '../support/store-files.js';
import { startStoreProcess } from '../support/store-processes.js';

/** SQLite's own wait is 100 ms at a time; a machine under load adds to it. A wait that blocked would take the whole second. */
const LONGEST_BLOCK_MS = 600;

describe('a store file that another process has locked', () => {
  let file: Awaited<ReturnType<typeof aStoreFile>>;
  let store: SessionStore;
  beforeEach(async () => {
    file = await aStoreFile();
    store = await openStore(file.location);
  });
  afterEach(async () => {
    await store.close();
    await file.remove();
  });

  test('for a second: the writes wait, and the event loop goes on', async () => {
    const holder = startStoreProcess('store-lock-holder.ts', [file.location, '1000']);
    await holder.printed(1);
    const blocks = watchEventLoop();
    const startedMs = performance.now();
    const sessions = ['acme/a', 'acme/b', 'acme/c', 'acme/d'];
    await Promise.all(sessions.map((sessionId) => store.beginTry(aBegin({ sessionId }))));
    expect(performance.now() - startedMs).toBeGreaterThan(500);
    expect(blocks.longestMs()).toBeLessThan(LONGEST_BLOCK_MS);
    expect(await holder.ended).toBe(0);
    expect(await store.listSessions({ limit: 9 })).toHaveLength(4);
  });

  test('reading goes on while it is locked for writing', async () => {
    await store.record(aRecord({ outputs: [aNotice('n1')] }));
    const holder = hold(file.location);
    const written = store.record(aRecord({ outputs: [aNotice('n2')] }));
    expect(await journal(store)).toHaveLength(1);
    holder.close();
    await written;
    expect(await journal(store)).toHaveLength(2);
  });

  test('for too long: every waiting write fails, says why, and has written nothing', async () => {
    const holder = hold(file.location);
    const writes = ['m1', 'm2', 'm3'].map((id) => store.beginTry(aBegin({ turnId: id, append: [aMessage(id)] })));
    for (const settled of await Promise.allSettled(writes)) {
      expect(settled).toMatchObject({ status: 'rejected', reason: expect.any(StoreUnavailableError) });
      expect(settled).toMatchObject({
        reason: { message: expect.stringMatching(/store\.sqlite is locked by another process/) },
      });
    }
    holder.close();
    expect(await store.findSession(SESSION)).toBeNull();
    expect(await store.beginTry(aBegin())).toMatchObject({ kind: 'begun' });
  }, 30_000);

  test('at the start: opening waits for it, and gives up with the reason', async () => {
    await store.close();
    const holder = new Database(file.location);
    holder.pragma('locking_mode = exclusive');
    holder.exec('begin exclusive');
    const opening = openStore(file.location);
    await expect(opening).rejects.toThrow(StoreOpenError);
    await expect(opening).rejects.toThrow(/is locked by another process/);
    holder.close();
  }, 30_000);
});

function hold(location: string): Database.Database {
  const holder = new Database(location);
  holder.exec('begin immediate');
  return holder;
}

function watchEventLoop(): { longestMs(): number } {
  let lastMs = performance.now();
  let longestMs = 0;
  const timer = setInterval(() => {
    longestMs = Math.max(longestMs, performance.now() - lastMs);
    lastMs = performance.now();
  }, 5);
  return {
    longestMs() {
      clearInterval(timer);
      return Math.max(longestMs, performance.now() - lastMs);
    },
  };
}
