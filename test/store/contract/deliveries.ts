import type { DeliverInput } from '../../../protocol/channels.js';
import { aBegin, aRecord, finishedCall, SESSION } from '../../support/store-builders.js';
import type { StoreFixture } from './store-fixture.js';

const DELIVERY: DeliverInput = { sessionId: SESSION, channel: 'hook', subject: 't1', part: 'outcome' };
const DAY_MS = 24 * 3_600_000;

export function describeDeliveries(fixture: StoreFixture): void {
  const claim = (nowMs = Date.now(), channel = 'hook') =>
    fixture.store.claimDeliveries({ channel, nowMs, holdMs: 10_000, limit: 5 });
  const accepted = async (over: Partial<DeliverInput> = {}): Promise<string> => {
    await fixture.store.acceptDelivery({ ...DELIVERY, ...over });
    const { subject } = { ...DELIVERY, ...over };
    return (await fixture.store.listDeliveries({ limit: 10 })).find((each) => each.subject === subject)!.id;
  };
  const stateOf = async (id: string) => (await fixture.store.findDelivery(id))?.state;

  test('what was accepted twice is one, and each part of a subject another', async () => {
    const { store } = fixture;
    const id = await accepted();
    expect(await accepted()).toBe(id);
    const notice = { code: 'session_suspended', message: 'm' };
    await store.acceptDelivery({ ...DELIVERY, part: 'notice', notice });
    await store.acceptDelivery({ ...DELIVERY, sessionId: 'other/s' });
    const all = await store.listDeliveries({ limit: 10 });
    expect(new Set(all.map((each) => each.id)).size).toBe(3);
    expect(all.find(({ part }) => part === 'notice')).toMatchObject({ notice, state: 'pending', attempts: 0 });
    expect(await store.findDelivery(id)).toEqual(all.find((each) => each.id === id));
    expect(await store.findDelivery('none')).toBeNull();
  });

  test('a claim takes what is due of its channel, for so long that nobody else gets it', async () => {
    const other = await fixture.another();
    const id = await accepted();
    await accepted({ channel: 'other', subject: 't2' });
    const nowMs = Date.now() + 1;
    const claims = await Promise.all([
      claim(nowMs),
      other.claimDeliveries({ channel: 'hook', nowMs, holdMs: 10_000, limit: 5 }),
    ]);
    expect(claims.flat()).toMatchObject([{ id, attempts: 1, channel: 'hook' }]);
    expect(await claim(nowMs + 9_999)).toEqual([]);
    expect(await claim(nowMs + 10_000)).toMatchObject([{ id, attempts: 2 }]);
  });

  test('a claim takes no more than it may, the longest due first', async () => {
    const first = await accepted();
    await accepted({ subject: 't2' });
    const query = { channel: 'hook', holdMs: 10_000, limit: 1 };
    const [one] = await fixture.store.claimDeliveries({ ...query, nowMs: Date.now() + 1 });
    await fixture.store.endDelivery({ id: one!.id, attempt: 1, end: { kind: 'again', problem: 'p', dueMs: 1 } });
    expect(await fixture.store.claimDeliveries({ ...query, nowMs: Date.now() + 1 })).toMatchObject([{ id: one!.id }]);
    expect(first).toBeDefined();
  });

  test('an attempt ends delivered, or due again with its problem', async () => {
    const id = await accepted();
    await claim(Date.now() + 1);
    await fixture.store.endDelivery({ id, attempt: 1, end: { kind: 'again', problem: 'no answer', dueMs: 42 } });
    expect(await fixture.store.findDelivery(id)).toMatchObject({ state: 'pending', problem: 'no answer', dueMs: 42 });
    await claim(42);
    await fixture.store.endDelivery({ id, attempt: 2, end: { kind: 'delivered' } });
    expect(await fixture.store.findDelivery(id)).toMatchObject({ state: 'delivered', problem: null, attempts: 2 });
    expect(await claim(Date.now() + DAY_MS)).toEqual([]);
  });

  test('an attempt that is not the newest changes nothing, nor one of a delivery that ended', async () => {
    const id = await accepted();
    await claim(Date.now() + 1);
    await claim(Date.now() + 20_000);
    await fixture.store.endDelivery({ id, attempt: 1, end: { kind: 'dead', problem: 'p' } });
    expect(await stateOf(id)).toBe('pending');
    await fixture.store.dropDelivery(id);
    await fixture.store.endDelivery({ id, attempt: 2, end: { kind: 'delivered' } });
    expect(await stateOf(id)).toBe('dropped');
    await fixture.store.endDelivery({ id: 'none', attempt: 1, end: { kind: 'delivered' } });
  });

  test('a dead letter is told in the journal, once', async () => {
    const { store } = fixture;
    await finishedCall(store, aBegin());
    const id = await accepted();
    await claim(Date.now() + 1);
    for (let time = 0; time < 2; time++) {
      await store.endDelivery({ id, attempt: 1, end: { kind: 'dead', problem: 'gone' } });
    }
    expect(await store.findDelivery(id)).toMatchObject({ state: 'dead', problem: 'gone' });
    const outputs = await store.readOutputs({ sessionId: SESSION, afterSeq: 0, limit: 100, kinds: ['Notice'] });
    const notices = outputs.filter((output) => output.kind === 'Notice' && output.code === 'delivery_failed');
    expect(notices).toMatchObject([{ message: expect.stringContaining(id) as string }]);
  });

  test('by hand a dead one is due at once with all its time before it, and any but a delivered one is dropped', async () => {
    const { store } = fixture;
    const id = await accepted();
    await claim(Date.now() + 1);
    await store.endDelivery({ id, attempt: 1, end: { kind: 'dead', problem: 'gone' } });
    const { sinceMs } = (await store.findDelivery(id))!;
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await store.retryDelivery(id)).toBe(true);
    const retried = (await store.findDelivery(id))!;
    expect(retried.state).toBe('pending');
    expect(retried.sinceMs).toBeGreaterThan(sinceMs);
    expect(await store.dropDelivery(id)).toBe(true);
    expect(await store.retryDelivery(id)).toBe(true);
    await claim(Date.now() + 1);
    await store.endDelivery({ id, attempt: 2, end: { kind: 'delivered' } });
    expect([await store.retryDelivery(id), await store.dropDelivery(id)]).toEqual([false, false]);
    expect([await store.retryDelivery('none'), await store.dropDelivery('none')]).toEqual([false, false]);
    expect(await stateOf(id)).toBe('delivered');
  });

  test('what no channel took is a dead letter, recorded with everything else', async () => {
    const { store } = fixture;
    const undelivered = [
      { channel: 'hook', subject: 't1', part: 'outcome' as const, reason: 'channel_not_registered' },
    ];
    for (let time = 0; time < 2; time++) await store.record(aRecord({ undelivered }));
    const [dead, ...others] = await store.listDeliveries({ limit: 10, channel: 'hook', states: ['dead'] });
    expect(others).toEqual([]);
    expect(dead).toMatchObject({ sessionId: SESSION, problem: 'channel_not_registered', attempts: 0 });
    expect(await claim(Date.now() + DAY_MS)).toEqual([]);
    expect(await store.listDeliveries({ limit: 10, states: ['pending'] })).toEqual([]);
    expect(await store.listDeliveries({ limit: 10, channel: 'other' })).toEqual([]);
  });
}
