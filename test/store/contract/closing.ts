import { SessionClosedError } from '../../../store/session-store.js';
import {
  aBegin,
  aMessage,
  anItem,
  anOutcome,
  aRecord,
  finishedCall,
  journal,
  SESSION,
} from '../../support/store-builders.js';
import type { StoreFixture } from './store-fixture.js';

export function describeClosing(fixture: StoreFixture): void {
  const anew = aBegin({ chain: 'chain-2', turnId: 't2', callId: 't2/c1', append: [aMessage('m2')] });
  const closing = aRecord({ status: 'closed', outcomes: [anOutcome('t1', { outcome: 'aborted' })] });
  const statusOf = async () => (await fixture.store.findSession(SESSION))?.status;

  test('lets no try begin any more, of whatever chain, and leaves no trace of it', async () => {
    const { store } = fixture;
    await finishedCall(store, aBegin());
    await store.record(closing);
    const before = await journal(store);
    await expect(store.beginTry(anew)).rejects.toThrow(SessionClosedError);
    await expect(store.beginTry(aBegin({ callId: 't1/c2', append: [] }))).rejects.toThrow(SessionClosedError);
    expect(await journal(store)).toEqual(before);
    expect(await store.findItem(SESSION, 'm2')).toBeNull();
    expect(await statusOf()).toBe('closed');
  });

  test('is not taken back by a record, older or newer', async () => {
    const { store } = fixture;
    await finishedCall(store, aBegin());
    await store.record(closing);
    await store.record(aRecord({ outcomes: [anOutcome('t2', { startedAtMs: 5_000 })] }));
    await store.record(aRecord({ chain: 'chain-2', status: 'suspended', items: [anItem('m2')] }));
    expect(await statusOf()).toBe('closed');
  });

  test('stands although a record of a newer turn came first', async () => {
    const { store } = fixture;
    await store.record(aRecord({ outcomes: [anOutcome('t9', { startedAtMs: 9_000 })] }));
    await store.record(closing);
    expect(await statusOf()).toBe('closed');
  });

  test('tells what it is given, and answers a call that had finished', async () => {
    const { store } = fixture;
    await finishedCall(store, aBegin());
    await store.record(closing);
    await store.record(aRecord({ items: [{ ...anItem('m3'), fate: 'refused', turnId: null }] }));
    expect(await store.findItem(SESSION, 'm3')).toMatchObject({ fate: 'refused', turnId: null });
    expect(await store.beginTry(aBegin({ attempt: 2 }))).toMatchObject({ kind: 'finished' });
  });
}
