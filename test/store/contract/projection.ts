import { setTimeout as delay } from 'node:timers/promises';
import {
  aBegin,
  aMessage,
  aNotice,
  anOutcome,
  aRecord,
  aSettlingFinish,
  begunBase,
  finishedCall,
  SESSION,
} from '../../support/store-builders.js';
import type { StoreFixture } from './store-fixture.js';

export function describeProjection(fixture: StoreFixture): void {
  test('shows status, queue, turns and the last outcome as last recorded', async () => {
    const { store } = fixture;
    await store.record(
      aRecord({ agent: 'writer', status: 'suspended', queued: 3, outcomes: [anOutcome('t1', { outcome: 'failed' })] }),
    );
    expect(await store.findSession(SESSION)).toEqual({
      sessionId: SESSION,
      tenant: 'acme',
      name: 's1',
      agent: 'writer',
      status: 'suspended',
      queued: 3,
      turns: 1,
      lastOutcome: 'failed',
      createdAtMs: expect.any(Number),
      updatedAtMs: expect.any(Number),
    });
  });

  test('a beginning try makes an idle session running; a repeat does not', async () => {
    const { store } = fixture;
    const head = await finishedCall(store, aBegin());
    await store.record(aRecord({ outcomes: [anOutcome('t1')] }));
    await store.beginTry(aBegin({ turnId: 't2', head }));
    expect(await store.findSession(SESSION)).toMatchObject({ status: 'idle' });
    await begunBase(store, aBegin({ turnId: 't3', head, append: [aMessage('m3')] }));
    expect(await store.findSession(SESSION)).toMatchObject({ status: 'running' });
  });

  test('a record that arrives again later does not bring back the old status', async () => {
    const { store } = fixture;
    const first = aRecord({ status: 'idle', outcomes: [anOutcome('t1')] });
    await store.record(first);
    await store.record(aRecord({ status: 'suspended', queued: 2, outputs: [aNotice('n1')] }));
    await store.record(first);
    expect(await store.findSession(SESSION)).toMatchObject({ status: 'suspended', queued: 2 });
  });

  test('an outcome that was overtaken is counted, but does not become the last', async () => {
    const { store } = fixture;
    await store.record(
      aRecord({ status: 'idle', outcomes: [anOutcome('t2', { outcome: 'failed', startedAtMs: 5_000 })] }),
    );
    await store.record(
      aRecord({ status: 'suspended', queued: 1, outcomes: [anOutcome('t1', { startedAtMs: 4_000 })] }),
    );
    expect(await store.findSession(SESSION)).toMatchObject({
      status: 'idle',
      queued: 0,
      turns: 2,
      lastOutcome: 'failed',
    });
  });

  test('turns follow each other by their starts, whatever the clocks of the workers that ended them say', async () => {
    const { store } = fixture;
    await store.record(aRecord({ outcomes: [anOutcome('t1', { startedAtMs: 4_000, endedAtMs: 9_000 })] }));
    const head = await finishedCall(store, aBegin({ turnId: 't2', append: [aMessage('m2')] }));
    await begunBase(store, aBegin({ turnId: 't2', callId: 't2/c2', head, append: [] }));
    const outcome = anOutcome('t2', { outcome: 'timeout', startedAtMs: 5_000, endedAtMs: 3_500 });
    await store.record(aRecord({ outcomes: [outcome] }));
    expect(await store.findSession(SESSION)).toMatchObject({ status: 'idle', turns: 2, lastOutcome: 'timeout' });
  });

  test('what was noted while a turn ran does not make a session that is idle by now run', async () => {
    const { store } = fixture;
    const begin = aBegin();
    await store.finishTry(aSettlingFinish(begin, await begunBase(store, begin)));
    await store.record(aRecord({ status: 'running', queued: 1, outputs: [aNotice('n1')] }));
    expect(await store.findSession(SESSION)).toMatchObject({ status: 'idle', queued: 1 });
  });

  test('a record of nothing but a status sets it', async () => {
    await fixture.store.record(aRecord({ status: 'idle' }));
    await fixture.store.record(aRecord({ status: 'suspended' }));
    expect(await fixture.store.findSession(SESSION)).toMatchObject({ status: 'suspended' });
  });

  test('lists the sessions of a tenant, newest activity first, up to a limit', async () => {
    const { store } = fixture;
    for (const sessionId of ['acme/a', 'other/b', 'acme/c', 'acme/a']) {
      await store.record(aRecord({ sessionId }));
      await delay(3); // activity is told apart by the millisecond
    }
    const listed = async (query: { tenant?: string; limit: number }) =>
      (await store.listSessions(query)).map((session) => session.sessionId);
    expect(await listed({ limit: 10 })).toEqual(['acme/a', 'acme/c', 'other/b']);
    expect(await listed({ tenant: 'acme', limit: 10 })).toEqual(['acme/a', 'acme/c']);
    expect(await listed({ limit: 1 })).toEqual(['acme/a']);
  });
}
