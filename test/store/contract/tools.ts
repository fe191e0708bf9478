import { StaleTryError } from '../../../store/session-store.js';
import { aBegin, anOutcome, aRecord, aTool, begunBase, journal } from '../../support/store-builders.js';
import type { StoreFixture } from './store-fixture.js';

export function describeTools(fixture: StoreFixture): void {
  beforeEach(() => begunBase(fixture.store, aBegin({ outputs: [] })));
  const sent = { ok: true, output: 'sent' };
  const again = aTool({ attempt: 2, taskToken: 'token of tool 2' });

  test('a first run may run, and says so once', async () => {
    const { store } = fixture;
    expect(await store.beginTool(aTool())).toEqual({ kind: 'run' });
    expect(await store.beginTool(aTool())).toEqual({ kind: 'run' });
    expect(await journal(store)).toMatchObject([
      { kind: 'ToolStarted', turnId: 't1', toolCallId: 't1/c1/tool0', name: 'send_mail', input: '{"to":"x"}' },
    ]);
  });

  test('a finished tool is not run again, and its first result stands', async () => {
    const { store } = fixture;
    await store.beginTool(aTool());
    await store.finishTool({ ...aTool(), result: sent });
    await store.finishTool({ ...aTool(), result: { ok: false, output: 'second' } });
    expect(await store.beginTool(again)).toEqual({ kind: 'finished', result: sent });
    expect((await journal(store)).slice(1)).toMatchObject([
      { kind: 'ToolFinished', ok: true, result: 'sent', turnId: 't1' },
    ]);
  });

  test('a tool that may not be repeated is unknown when an earlier run never ended', async () => {
    await fixture.store.beginTool(aTool());
    expect(await fixture.store.beginTool(again)).toEqual({ kind: 'unknown' });
    expect(await fixture.store.beginTool(aTool({ taskToken: 'a redispatch' }))).toEqual({ kind: 'unknown' });
  });

  test('an idempotent tool runs again', async () => {
    await fixture.store.beginTool(aTool({ idempotent: true }));
    expect(await fixture.store.beginTool({ ...again, idempotent: true })).toEqual({ kind: 'run' });
    expect(await journal(fixture.store)).toHaveLength(1);
  });

  test('an unknown tool can be given a result, which then stands', async () => {
    const { store } = fixture;
    await store.beginTool(aTool());
    await store.beginTool(again);
    const unknown = { ok: false, output: 'unknown' };
    await store.finishTool({ ...aTool(), result: unknown });
    expect(await store.beginTool(again)).toEqual({ kind: 'finished', result: unknown });
  });

  test('no tool begins after its turn has ended', async () => {
    const { store } = fixture;
    await store.record(aRecord({ outcomes: [anOutcome('t1')] }));
    const written = await journal(store);
    await expect(store.beginTool(aTool())).rejects.toThrow(StaleTryError);
    expect(await journal(store)).toEqual(written);
  });

  test('the result of a tool that never began here is ignored', async () => {
    await fixture.store.finishTool({ ...aTool(), result: sent });
    expect(await journal(fixture.store)).toEqual([]);
    expect(await fixture.store.beginTool(aTool())).toEqual({ kind: 'run' });
  });
}
