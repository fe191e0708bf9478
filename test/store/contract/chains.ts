import { StaleTryError } from '../../../store/session-store.js';
import {
  aBegin,
  aDelta,
  aMessage,
  aRecord,
  finishedCall,
  journal,
  requireBegun,
  SESSION,
  spoken,
  streamingCall,
  toRef,
  anItem,
} from '../../support/store-builders.js';
import type { StoreFixture } from './store-fixture.js';

export function describeChains(fixture: StoreFixture): void {
  const anew = aBegin({ chain: 'chain-2', turnId: 't2', append: [aMessage('m2')], outputs: [] });

  test('continues from the transcript it had, and says so', async () => {
    const { store } = fixture;
    await finishedCall(store, aBegin());
    const begun = requireBegun(await store.beginTry(anew));
    expect(begun.notices).toEqual([expect.stringContaining('started anew')]);
    expect(spoken(await store.transcript(SESSION, begun.base))).toEqual([
      'user m1',
      'assistant answer of t1/c1',
      'user m2',
    ]);
  });

  test('every try of its first call gets the same base and notice', async () => {
    const { store } = fixture;
    await finishedCall(store, aBegin());
    const first = await store.beginTry(anew);
    expect(await store.beginTry({ ...anew, attempt: 2 })).toEqual({ ...first, earlier: expect.anything() as unknown });
  });

  test('keeps the old transcript also when its first call never finished', async () => {
    const { store } = fixture;
    const head = await finishedCall(store, aBegin());
    await store.beginTry(anew);
    const begun = requireBegun(
      await store.beginTry({ ...anew, turnId: 't3', callId: 't3/c1', append: [aMessage('m3')] }),
    );
    const [, second] = (await store.transcript(SESSION, begun.base)).reverse();
    expect(second?.id).toBe(head);
  });

  test('a head that its workflow knows is taken without a notice', async () => {
    const { store } = fixture;
    const head = await finishedCall(store, aBegin());
    expect(await store.beginTry({ ...anew, head })).toMatchObject({ kind: 'begun', base: 't2/c1.in0', notices: [] });
  });

  test('a null head within the first chain is an empty transcript', async () => {
    const { store } = fixture;
    await finishedCall(store, aBegin());
    const begun = requireBegun(await store.beginTry({ ...anew, chain: 'chain-1' }));
    expect(begun.notices).toEqual([]);
    expect(spoken(await store.transcript(SESSION, begun.base))).toEqual(['user m2']);
  });

  test('what still runs in the old chain is refused, and what it had shown is taken back', async () => {
    const { store } = fixture;
    const old = aBegin();
    await streamingCall(store, old);
    await store.beginTry(anew);
    expect((await journal(store)).at(-1)).toMatchObject({
      kind: 'TextStreamDiscarded',
      callId: 't1/c1',
      reason: 'turn_ended',
    });
    await expect(store.appendTryOutputs(toRef(old), [aDelta(old, 1)])).rejects.toThrow(StaleTryError);
    await expect(store.beginTry(aBegin({ turnId: 't9', append: [] }))).rejects.toThrow(StaleTryError);
  });

  test('a message that the old chain never answered is free for the new one', async () => {
    const { store } = fixture;
    await streamingCall(store, aBegin());
    expect(await store.beginTry({ ...anew, append: [aMessage('m1')] })).toMatchObject({ kind: 'begun', repeats: [] });
    expect(await store.findItem(SESSION, 'm1')).toMatchObject({ fate: 'pending', turnId: anew.turnId });
  });

  test('a message that the old chain answered is a repeat in the new one, and does not start it', async () => {
    const { store } = fixture;
    const old = aBegin();
    await streamingCall(store, old);
    await store.record(aRecord({ items: [anItem('m1')] }));
    expect(await store.beginTry({ ...anew, append: [aMessage('m1')] })).toMatchObject({ kind: 'repeated' });
    await store.appendTryOutputs(toRef(old), [aDelta(old, 1)]); // the old chain is still the session's
  });

  test('a late record of the old chain leaves the projection alone', async () => {
    const { store } = fixture;
    await finishedCall(store, aBegin());
    await store.beginTry(anew);
    await store.record(aRecord({ status: 'suspended', queued: 7, outputs: [] }));
    expect(await store.findSession(SESSION)).toMatchObject({ status: 'running', queued: 0 });
  });
}
