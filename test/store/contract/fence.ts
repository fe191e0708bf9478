import { type BeginTry, StaleTryError } from '../../../store/session-store.js';
import {
  aBegin,
  aDelta,
  aFinish,
  anOutcome,
  aRecord,
  begunBase,
  finishedCall,
  journal,
  SESSION,
  toRef,
} from '../../support/store-builders.js';
import type { StoreFixture } from './store-fixture.js';

export function describeFence(fixture: StoreFixture): void {
  /** Every write of a stale try is refused, and leaves nothing. */
  async function expectStale(stale: BeginTry): Promise<void> {
    const { store } = fixture;
    const written = await journal(store);
    await expect(store.beginTry(stale)).rejects.toThrow(StaleTryError);
    await expect(store.appendTryOutputs(toRef(stale), [aDelta(stale, 7)])).rejects.toThrow(StaleTryError);
    await expect(store.finishTry(aFinish(stale, 't1/c1.in0'))).rejects.toThrow(StaleTryError);
    expect(await journal(store)).toEqual(written);
    expect(await store.findEntry(SESSION, `${stale.callId}.out`)).toBeNull();
  }

  test('a lower attempt of the same dispatch is stale', async () => {
    await begunBase(fixture.store, aBegin({ attempt: 1 }));
    await begunBase(fixture.store, aBegin({ attempt: 2 }));
    await expectStale(aBegin({ attempt: 1 }));
  });

  test('a higher attempt of a lower dispatch is stale', async () => {
    await begunBase(fixture.store, aBegin({ dispatch: 1, attempt: 3 }));
    await begunBase(fixture.store, aBegin({ dispatch: 2, attempt: 1 }));
    await expectStale(aBegin({ dispatch: 1, attempt: 3 }));
  });

  test('a try that never began cannot write', async () => {
    const never = aBegin();
    await expect(fixture.store.appendTryOutputs(toRef(never), [aDelta(never, 0)])).rejects.toThrow(StaleTryError);
    await expect(fixture.store.finishTry(aFinish(never, null))).rejects.toThrow(StaleTryError);
    expect(await fixture.store.findSession(SESSION)).toBeNull();
  });

  test('a second task under the number of a begun try is stale', async () => {
    await begunBase(fixture.store, aBegin());
    await expect(fixture.store.beginTry(aBegin({ taskToken: 'another task' }))).rejects.toThrow(StaleTryError);
  });

  test('the newest try goes on after a stale one was refused', async () => {
    const { store } = fixture;
    await begunBase(store, aBegin({ attempt: 1 }));
    const newest = aBegin({ attempt: 2 });
    const base = await begunBase(store, newest);
    await expectStale(aBegin({ attempt: 1 }));
    await store.appendTryOutputs(toRef(newest), [aDelta(newest, 0)]);
    await store.finishTry(aFinish(newest, base));
    expect((await journal(store)).map((output) => output.kind)).toEqual(['TurnStarted', 'TextDelta', 'TextOutput']);
  });

  test('a finished call takes no more text, and no result from another try', async () => {
    const { store } = fixture;
    await begunBase(store, aBegin({ attempt: 1 }));
    await finishedCall(store, aBegin({ attempt: 2 }));
    const written = await journal(store);
    for (const attempt of [1, 2, 3]) {
      const late = aBegin({ attempt });
      await expect(store.appendTryOutputs(toRef(late), [aDelta(late, 9)])).rejects.toThrow(StaleTryError);
    }
    for (const attempt of [1, 3]) {
      await expect(store.finishTry(aFinish(aBegin({ attempt }), 't1/c1.in0'))).rejects.toThrow(StaleTryError);
    }
    expect(await journal(store)).toEqual(written);
  });

  test('calls of an ended turn are closed, whether they had begun or not', async () => {
    const { store } = fixture;
    await begunBase(store, aBegin());
    await store.record(aRecord({ outcomes: [anOutcome('t1', { outcome: 'timeout' })] }));
    await expectStale(aBegin());
    await expectStale(aBegin({ dispatch: 2 }));
    await expectStale(aBegin({ callId: 't1/c2', append: [] }));
  });

  test('the call of another session is not touched', async () => {
    const { store } = fixture;
    await begunBase(store, aBegin({ attempt: 2 }));
    expect(await begunBase(store, aBegin({ sessionId: 'acme/s2', attempt: 1 }))).toBe('t1/c1.in0');
  });
}
