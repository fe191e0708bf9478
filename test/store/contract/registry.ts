import {
  aBegin,
  anOutcome,
  aRecord,
  aTool,
  begunBase,
  finishedCall,
  SESSION,
  toRef,
} from '../../support/store-builders.js';
import type { StoreFixture } from './store-fixture.js';

export function describeRegistry(fixture: StoreFixture): void {
  const open = async () => (await fixture.store.openTasks()).map(({ kind, id, attempt }) => `${kind} ${id} ${attempt}`);

  test('lists what began and has not ended, with whom to fail it by', async () => {
    const { store } = fixture;
    await begunBase(store, aBegin({ attempt: 2 }));
    await store.beginTool(aTool());
    const of = { sessionId: SESSION, workerInstance: 'worker-1' };
    expect(await store.openTasks()).toEqual([
      { kind: 'callModel', id: 't1/c1', attempt: 2, taskToken: 'token of t1/c1 1.2', losses: 0, ...of },
      { kind: 'callTool', id: 't1/c1/tool0', attempt: 1, taskToken: 'token of tool 1', losses: 0, ...of },
    ]);
  });

  test('a try leaves it when it ends, and its call with every try when it finishes', async () => {
    const { store } = fixture;
    await begunBase(store, aBegin({ attempt: 1 }));
    await begunBase(store, aBegin({ attempt: 2 }));
    await store.endTry(toRef(aBegin({ attempt: 2 })));
    expect(await open()).toEqual(['callModel t1/c1 1']);
    await finishedCall(store, aBegin({ attempt: 3 }));
    expect(await open()).toEqual([]);
  });

  test('a turn that ends takes its tries with it, and leaves those of others', async () => {
    const { store } = fixture;
    await begunBase(store, aBegin());
    await begunBase(store, aBegin({ sessionId: 'acme/s2' }));
    await store.record(aRecord({ outcomes: [anOutcome('t1', { outcome: 'aborted' })] }));
    expect((await store.openTasks()).map((task) => task.sessionId)).toEqual(['acme/s2']);
  });

  test('a tool leaves it with its result', async () => {
    const { store } = fixture;
    await begunBase(store, aBegin());
    await store.endTry(toRef(aBegin()));
    await store.beginTool(aTool());
    await store.finishTool({ ...aTool(), result: { ok: true, output: '' } });
    expect(await open()).toEqual([]);
  });
}
