import type { BeginTry, OpenTask } from '../../../store/session-store.js';
import {
  aBegin,
  aFinish,
  anOutcome,
  aRecord,
  aTool,
  begunBase,
  finishedCall,
  SESSION,
} from '../../support/store-builders.js';
import type { StoreFixture } from './store-fixture.js';

export function describeLosses(fixture: StoreFixture): void {
  /** The task of this token. */
  async function task(token: string): Promise<OpenTask> {
    return (await fixture.store.openTasks()).find(({ taskToken }) => taskToken === token)!;
  }
  async function lose(begin: BeginTry): Promise<number> {
    await begunBase(fixture.store, begin);
    return fixture.store.countLoss(await task(begin.taskToken));
  }
  async function loseTool(taskToken: string): Promise<number> {
    await fixture.store.beginTool(aTool({ idempotent: true, taskToken }));
    return fixture.store.countLoss(await task(taskToken));
  }
  const first = aBegin();
  const second = aBegin({ dispatch: 2 });
  const endTurn = () => fixture.store.record(aRecord({ outcomes: [anOutcome('t1', { outcome: 'aborted' })] }));

  test('of one call are counted over its tries, each once', async () => {
    expect(await lose(first)).toBe(1);
    expect(await fixture.store.countLoss(await task(first.taskToken))).toBe(1);
    expect(await lose(second)).toBe(2);
    expect((await task(second.taskToken)).losses).toBe(2);
  });

  test('of other calls are their own', async () => {
    await lose(first);
    expect(await lose(aBegin({ sessionId: 'acme/s2' }))).toBe(1);
    expect(await lose(aBegin({ callId: 't1/c9' }))).toBe(1);
    expect(await fixture.store.countSuspects()).toBe(0);
  });

  test('of a tool are counted over its runs, each once', async () => {
    await begunBase(fixture.store, first);
    expect(await loseTool('one')).toBe(1);
    expect(await fixture.store.countLoss(await task('one'))).toBe(1);
    expect(await loseTool('two')).toBe(2);
    expect((await task('two')).losses).toBe(2);
  });

  test('make a suspect of a call that lost two workers, until it is over', async () => {
    await lose(first);
    expect(await fixture.store.countSuspects()).toBe(0);
    await lose(second);
    expect(await fixture.store.countSuspects()).toBe(1);
    const third = aBegin({ dispatch: 3 });
    const base = await begunBase(fixture.store, third);
    expect(await fixture.store.countSuspects()).toBe(1);
    await fixture.store.finishTry(aFinish(third, base));
    expect(await fixture.store.countSuspects()).toBe(0);
  });

  test('make no suspect of a call whose turn has ended', async () => {
    await lose(first);
    await lose(second);
    await endTurn();
    expect(await fixture.store.countSuspects()).toBe(0);
  });

  test('make a suspect of a tool call until it has its result', async () => {
    await begunBase(fixture.store, first);
    await loseTool('one');
    await loseTool('two');
    expect(await fixture.store.countSuspects()).toBe(1);
    await fixture.store.finishTool({ ...aTool(), result: { ok: true, output: '' } });
    expect(await fixture.store.countSuspects()).toBe(0);
  });

  test('make no suspect of a tool call whose turn has ended', async () => {
    await finishedCall(fixture.store, first);
    await loseTool('one');
    await loseTool('two');
    await endTurn();
    expect(await fixture.store.countSuspects()).toBe(0);
  });

  test('of a task that the store does not know are none', async () => {
    const unknown = { sessionId: SESSION, id: 'nobody', attempt: 1, workerInstance: 'w', taskToken: 't', losses: 0 };
    expect(await fixture.store.countLoss({ kind: 'callModel', ...unknown })).toBe(0);
    expect(await fixture.store.countLoss({ kind: 'callTool', ...unknown })).toBe(0);
  });
}
