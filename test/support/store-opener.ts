/** A process that opens a store, writes once and closes it: `LOCATION`. Prints `ok`, or the error's name and message. */
import { openStore } from '../../store/open-store.js';
import { aRecord } from './store-builders.js';

try {
  const store = await openStore(process.argv[2] ?? '');
  await store.record(aRecord());
  await store.close();
  console.log('ok');
} catch (error) {
  console.log(String(error));
}
