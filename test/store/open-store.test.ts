import { openStore } from '../../store/open-store.js';
import { StoreOpenError } from '../../store/session-store.js';
import { aRecord, SESSION } from '../support/store-builders.js';
import { aStoreFile } from '../support/store-files.js';

describe('the location of a store', () => {
  test('is a path, or a path behind "sqlite:"', async () => {
    const file = await aStoreFile();
    const store = await openStore(`sqlite:${file.location}`);
    await store.record(aRecord());
    const same = await openStore(file.location);
    expect(await same.findSession(SESSION)).not.toBeNull();
    await Promise.all([store.close(), same.close()]);
    await file.remove();
  });

  test.each(['postgres://user:secret@host/db', 'postgresql://user:secret@host/db'])(
    'a Postgres address is refused for now, without repeating its password',
    async (location) => {
      const opening = openStore(location);
      await expect(opening).rejects.toThrow(StoreOpenError);
      await expect(opening).rejects.toThrow(/Postgres comes with a later one/);
      await expect(opening).rejects.not.toThrow(/secret/);
    },
  );

  test.each([
    ['mysql://host/db', /"mysql:\/\/" is not a kind of session store/],
    ['', /is empty/],
    ['sqlite:', /is empty/],
    [':memory:', /must outlive its process/],
  ])('%p is refused', async (location, why) => {
    const opening = openStore(location);
    await expect(opening).rejects.toThrow(StoreOpenError);
    await expect(opening).rejects.toThrow(why);
  });
});
