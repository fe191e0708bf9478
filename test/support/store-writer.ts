/**
 * A process that writes to a store: `LOCATION NAME COUNT SESSION…`. It spreads turns over the sessions,
 * and prints the key of an output once the write that holds it was acknowledged.
 */
import { openStore } from '../../store/open-store.js';
import { aBegin, aDelta, aMessage, anOutcome, aRecord, begunBase, aFinish, toRef } from './store-builders.js';

const [location = '', name = '', count = '0', ...sessions] = process.argv.slice(2);
const store = await openStore(location);

async function oneTurn(sessionId: string, turn: number): Promise<void> {
  const turnId = `${name}-${turn}`;
  const begin = aBegin({ sessionId, turnId, append: [aMessage(turnId)] });
  const base = await begunBase(store, begin);
  for (const index of [0, 1, 2]) {
    const delta = aDelta(begin, index, `${turnId}.${index}`);
    await store.appendTryOutputs(toRef(begin), [delta]);
    console.log(`${sessionId} ${turnId}.${index}`);
  }
  await store.finishTry(aFinish(begin, base));
  await store.record(aRecord({ sessionId, outcomes: [anOutcome(turnId)] }));
}

for (let turn = 0; turn < Number(count); turn++) {
  await Promise.all(sessions.map((sessionId) => oneTurn(sessionId, turn)));
}
await store.close();
