import type { BeginTry } from '../../../store/session-store.js';
import {
  aBegin,
  aDelta,
  aMessage,
  anOutcome,
  aRecord,
  begunBase,
  finishedCall,
  journal,
  streamingCall,
  toRef,
} from '../../support/store-builders.js';
import type { StoreFixture } from './store-fixture.js';

export function describeDiscards(fixture: StoreFixture): void {
  async function discards() {
    const outputs = await journal(fixture.store);
    return outputs.flatMap((output) => (output.kind === 'TextStreamDiscarded' ? [output] : []));
  }
  const ended = aRecord({ outcomes: [anOutcome('t1')] });

  test('a new attempt takes back what the one before showed', async () => {
    await streamingCall(fixture.store, aBegin());
    await begunBase(fixture.store, aBegin({ attempt: 2 }));
    expect(await discards()).toMatchObject([
      { turnId: 't1', callId: 't1/c1', try: { dispatch: 1, attempt: 1 }, reason: 'resumed', phase: null },
    ]);
  });

  test('a new dispatch says that it is one', async () => {
    await streamingCall(fixture.store, aBegin());
    await begunBase(fixture.store, aBegin({ dispatch: 2 }));
    expect(await discards()).toMatchObject([{ try: { dispatch: 1, attempt: 1 }, reason: 'redispatched' }]);
  });

  test('each try is taken back once, however many follow', async () => {
    await streamingCall(fixture.store, aBegin({ attempt: 1 }));
    await streamingCall(fixture.store, aBegin({ attempt: 2 }));
    await streamingCall(fixture.store, aBegin({ dispatch: 2, attempt: 1 }));
    await fixture.store.record(ended);
    expect((await discards()).map((output) => [output.try.dispatch, output.try.attempt, output.reason])).toEqual([
      [1, 1, 'resumed'],
      [1, 2, 'redispatched'],
      [2, 1, 'turn_ended'],
    ]);
  });

  test('reasoning that was shown is taken back too', async () => {
    const begin = aBegin();
    await begunBase(fixture.store, begin);
    const { text: _, ...delta } = { ...aDelta(begin, 0), text: '' } as Extract<
      ReturnType<typeof aDelta>,
      { kind: 'TextDelta' }
    >;
    await fixture.store.appendTryOutputs(toRef(begin), [{ ...delta, kind: 'ReasoningDelta', text: 'hm' }]);
    await begunBase(fixture.store, aBegin({ attempt: 2 }));
    expect(await discards()).toHaveLength(1);
  });

  test('a try that showed no text leaves nothing to take back', async () => {
    const begin = aBegin();
    await begunBase(fixture.store, begin);
    await fixture.store.appendTryOutputs(toRef(begin), [aStallWarning(begin)]);
    await begunBase(fixture.store, aBegin({ attempt: 2 }));
    await fixture.store.record(ended);
    expect(await discards()).toEqual([]);
  });

  test('the same try delivered again does not take back its own text', async () => {
    await streamingCall(fixture.store, aBegin());
    await begunBase(fixture.store, aBegin());
    expect(await discards()).toEqual([]);
  });

  test('a turn that ends inside a call takes its text back before TurnEnded', async () => {
    await streamingCall(fixture.store, aBegin());
    await fixture.store.record(ended);
    const kinds = (await journal(fixture.store)).map((output) => output.kind);
    expect(kinds.slice(-2)).toEqual(['TextStreamDiscarded', 'TurnEnded']);
    expect(await discards()).toMatchObject([{ reason: 'turn_ended' }]);
  });

  test('text of completed calls and of other turns stays', async () => {
    const { store } = fixture;
    await streamingCall(store, aBegin());
    const head = await finishedCall(store, aBegin());
    await streamingCall(store, aBegin({ turnId: 't2', head, append: [aMessage('m2')] }));
    await store.record(ended);
    expect(await discards()).toEqual([]);
  });
}

function aStallWarning({ turnId, callId, dispatch, attempt }: BeginTry) {
  const of = { turnId, callId, try: { dispatch, attempt } };
  return { kind: 'StallWarning' as const, key: 'stall', ...of, phase: 'prefill' as const, silentMs: 1, budgetMs: 2 };
}
