import { type LiveCall, SessionDrainingError, StaleTryError } from '../../../store/session-store.js';
import {
  aBegin,
  aCarriedMessage,
  aDelta,
  aFinish,
  aMessage,
  anOutcome,
  aRecord,
  aTool,
  begunBase,
  finishedCall,
  journal,
  SESSION,
  spoken,
  streamingCall,
  toRef,
} from '../../support/store-builders.js';
import type { StoreFixture } from './store-fixture.js';

/** Turns that somebody stopped, sessions that drain, and what a worker asks once a second. */
export function describeStopping(fixture: StoreFixture): void {
  const first = aBegin();
  const aborted = aRecord({ outcomes: [anOutcome('t1', { outcome: 'aborted', reason: 'stopped' })] });
  const next = aBegin({
    turnId: 't2',
    append: [aCarriedMessage('m1', 't1'), { kind: 'interruptedCall', callId: first.callId }, aMessage('m2')],
  });
  const textsTakenBack = async () =>
    (await journal(fixture.store)).filter((output) => output.kind === 'TextStreamDiscarded');

  describe('the partial text', () => {
    test('of a stopped turn stays, is in its outcome, and is no part of its text', async () => {
      const { store } = fixture;
      const done = aBegin({ callId: 't1/c0' });
      const head = await finishedCall(store, done, 'whole');
      await streamingCall(store, aBegin({ head, append: [] }));
      await store.appendTryOutputs(toRef(first), [aDelta(first, 1)]);
      await store.record(aborted);
      expect(await store.findOutcome(SESSION, 't1')).toMatchObject({ text: 'whole', partial: 'delta 0 delta 1 ' });
      expect((await journal(store)).at(-1)).toMatchObject({ kind: 'TurnEnded', partial: 'delta 0 delta 1 ' });
      expect(await textsTakenBack()).toEqual([]);
    });

    test('is that of the newest try; what older ones had shown is taken back', async () => {
      const { store } = fixture;
      await streamingCall(store, first);
      const again = aBegin({ attempt: 2 });
      await begunBase(store, again);
      await store.appendTryOutputs(toRef(again), [aDelta(again, 0, 'again')]);
      await store.record(aborted);
      expect(await store.findOutcome(SESSION, 't1')).toMatchObject({ partial: 'again' });
      expect(await textsTakenBack()).toMatchObject([{ try: { dispatch: 1, attempt: 1 } }]);
    });

    test('is nothing when the call had not said anything, or not even begun', async () => {
      const { store } = fixture;
      await begunBase(store, first);
      await store.record(aborted);
      await store.record(aRecord({ outcomes: [anOutcome('t9', { outcome: 'aborted' })] }));
      expect(await store.findOutcome(SESSION, 't1')).toMatchObject({ partial: null });
      expect(await store.findOutcome(SESSION, 't9')).toMatchObject({ partial: null });
    });

    test.each(['timeout', 'failed', 'interrupted'] as const)(
      'of a turn that ended as %s is taken back',
      async (outcome) => {
        const { store } = fixture;
        await streamingCall(store, first);
        await store.record(aRecord({ outcomes: [anOutcome('t1', { outcome })] }));
        expect(await store.findOutcome(SESSION, 't1')).toMatchObject({ partial: null });
        expect(await textsTakenBack()).toHaveLength(1);
      },
    );
  });

  describe('a stopped call in the transcript of the next turn', () => {
    const entriesOf = async (base: string | null) => fixture.store.transcript(SESSION, base);

    test('is what it had said, marked as interrupted, after its own inputs', async () => {
      await streamingCall(fixture.store, first);
      await fixture.store.record(aborted);
      const entries = await entriesOf(await begunBase(fixture.store, next));
      expect(spoken(entries)).toEqual(['user m1', 'assistant delta 0 ', 'user m2']);
      expect(entries[1]!.content).toMatchObject({ kind: 'assistant', isInterrupted: true });
    });

    test('says no more from then on, although the stop is not recorded yet: every try reads the same', async () => {
      const { store } = fixture;
      await streamingCall(store, first);
      const base = await begunBase(store, next);
      await expect(store.appendTryOutputs(toRef(first), [aDelta(first, 1)])).rejects.toThrow(StaleTryError);
      expect(await begunBase(store, { ...next, attempt: 2 })).toBe(base);
      await store.record(aborted);
      expect(await store.findOutcome(SESSION, 't1')).toMatchObject({ partial: 'delta 0 ' });
    });

    test('that had not said anything is an entry without parts', async () => {
      const entries = await entriesOf(await begunBase(fixture.store, next));
      expect(entries[1]!.content).toMatchObject({ parts: [], isInterrupted: true });
    });

    test('that came to its end all the same is its whole answer', async () => {
      const { store } = fixture;
      const base = await begunBase(store, first);
      await store.appendTryOutputs(toRef(first), [aDelta(first, 0)]);
      await store.finishTry(aFinish(first, base, 'the whole'));
      await store.record(aborted);
      const entries = await entriesOf(await begunBase(store, next));
      expect(spoken(entries)).toEqual(['user m1', 'assistant the whole', 'user m2']);
      expect(entries[1]!.content).not.toHaveProperty('isInterrupted');
    });
  });

  test('a tool that ends after its turn keeps its result, and tells nobody', async () => {
    const { store } = fixture;
    await begunBase(store, first);
    await store.beginTool(aTool());
    await store.record(aborted);
    await store.finishTool({ ...aTool(), result: { ok: true, output: 'late' } });
    expect((await journal(store)).map((output) => output.kind)).not.toContain('ToolFinished');
    expect(await store.beginTool(aTool())).toMatchObject({ kind: 'finished', result: { output: 'late' } });
  });

  describe('calls that nobody waits for', () => {
    const live: LiveCall = { kind: 'callModel', ...toRef(first) };
    const { sessionId, turnId, toolCallId, attempt, taskToken } = aTool();
    const tool: LiveCall = { kind: 'callTool', sessionId, turnId, toolCallId, attempt, taskToken };
    const begin = async () => {
      await begunBase(fixture.store, first);
      await fixture.store.beginTool(aTool());
    };

    test('are none while their turn runs, and none of which the store knows nothing', async () => {
      await begin();
      const unknown: LiveCall[] = [
        { ...live, callId: 'x' },
        { ...tool, toolCallId: 'x' },
      ];
      expect(await fixture.store.findClosed([live, tool, ...unknown])).toEqual([]);
      expect(await fixture.store.findClosed([])).toEqual([]);
    });

    test('are those of a turn that has ended', async () => {
      await begin();
      await fixture.store.record(aborted);
      expect(await fixture.store.findClosed([live, tool])).toEqual([live, tool]);
    });

    test('are those that another task has taken over', async () => {
      await begin();
      await begunBase(fixture.store, aBegin({ attempt: 2 }));
      await fixture.store.beginTool(aTool({ attempt: 2, idempotent: true }));
      expect(await fixture.store.findClosed([live, { ...live, attempt: 2 }, tool])).toEqual([live, tool]);
    });

    test('are those of a chain that was replaced', async () => {
      await begin();
      await begunBase(fixture.store, aBegin({ chain: 'chain-2', turnId: 't2', append: [aMessage('m2')] }));
      expect(await fixture.store.findClosed([live])).toEqual([live]);
    });

    test('are not those that have their result: they are about to report it', async () => {
      await fixture.store.finishTry(aFinish(first, await begunBase(fixture.store, first)));
      expect(await fixture.store.findClosed([live])).toEqual([]);
    });

    test('are found among many', async () => {
      await begin();
      await fixture.store.record(aborted);
      const others = Array.from({ length: 1_500 }, (_, n): LiveCall => ({ ...live, callId: `other ${n}` }));
      expect(await fixture.store.findClosed([...others, live])).toEqual([live]);
    });
  });

  describe('a session that drains', () => {
    const drains = (isDraining: boolean, change: number, chain = 'chain-1') =>
      aRecord({ chain, drain: { isDraining, change } });

    test('has each call tried once', async () => {
      const { store } = fixture;
      await begunBase(store, first);
      await store.record(drains(true, 1));
      await expect(store.beginTry(aBegin({ attempt: 2 }))).rejects.toThrow(SessionDrainingError);
      await expect(store.beginTry(aBegin({ dispatch: 2 }))).rejects.toThrow(SessionDrainingError);
      await store.finishTry(aFinish(first, await begunBase(store, first)));
    });

    test('lets a call begin whose earlier tries never began', async () => {
      await fixture.store.record(drains(true, 1));
      await begunBase(fixture.store, aBegin({ dispatch: 2, attempt: 3 }));
    });

    test('still gives the result that a crashed try had stored', async () => {
      const { store } = fixture;
      await store.finishTry(aFinish(first, await begunBase(store, first)));
      await store.record(drains(true, 1));
      expect(await store.beginTry(aBegin({ attempt: 2 }))).toMatchObject({ kind: 'finished' });
    });

    test('is undrained by a later change, and by no earlier one that is written again', async () => {
      const { store } = fixture;
      await begunBase(store, first);
      for (const change of [1, 3, 2]) await store.record(drains(change !== 2, change));
      await expect(store.beginTry(aBegin({ attempt: 2 }))).rejects.toThrow(SessionDrainingError);
      await store.record(drains(false, 4));
      await store.record(drains(true, 3));
      await begunBase(store, aBegin({ attempt: 2 }));
    });

    test('is meant by chain: a session that was started anew does not drain', async () => {
      const { store } = fixture;
      await store.record(drains(true, 1, 'chain-0'));
      await begunBase(store, first);
      await begunBase(store, aBegin({ attempt: 2 }));
    });
  });
}
