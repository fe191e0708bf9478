import type { Evidence } from '../../../protocol/liveness.js';
import type { BeginTry } from '../../../store/session-store.js';
import {
  aBegin,
  aDelta,
  aFinish,
  anOutcome,
  aRecord,
  aSettlingFinish,
  begunBase,
  finishedCall,
  journal,
  requireBegun,
  SESSION,
  toRef,
  USAGE,
} from '../../support/store-builders.js';
import type { StoreFixture } from './store-fixture.js';

/** Of `USAGE`. */
const INPUT_TOKENS = (USAGE.uncachedInputTokens ?? 0) + (USAGE.cacheReadTokens ?? 0) + (USAGE.cacheWriteTokens ?? 0);

export function describeEvidence(fixture: StoreFixture): void {
  const shown = (over: Partial<Evidence> = {}): Evidence => ({
    ...{ phase: 'streaming', charsReceived: 40, firstTokenMs: 700 },
    ...over,
  });
  const first = aBegin();
  const second = aBegin({ attempt: 2 });
  const third = aBegin({ dispatch: 2 });

  const earlierThan = async (begin: BeginTry) => requireBegun(await fixture.store.beginTry(begin)).earlier;
  async function begun(begin: BeginTry, evidence?: Evidence): Promise<void> {
    await begunBase(fixture.store, begin);
    if (evidence) await fixture.store.appendTryOutputs(toRef(begin), [], evidence);
  }
  async function endedTurn() {
    const ended = (await journal(fixture.store)).findLast((output) => output.kind === 'TurnEnded')!;
    const { discardedAttempts, discardedEstimatedInputTokens, discardedReceivedChars } = ended;
    const outcome = await fixture.store.findOutcome(SESSION, ended.turnId);
    expect(outcome).toMatchObject(
      discardedAttempts === undefined
        ? { turnId: ended.turnId }
        : { discardedAttempts, discardedEstimatedInputTokens, discardedReceivedChars },
    );
    return { attempts: discardedAttempts, input: discardedEstimatedInputTokens, chars: discardedReceivedChars };
  }
  const endTurn = () => fixture.store.record(aRecord({ outcomes: [anOutcome('t1', { outcome: 'timeout' })] }));

  describe('what earlier tries have shown', () => {
    test('is nothing for the first try, also when it is delivered again', async () => {
      expect(await earlierThan(first)).toBeNull();
      expect(await earlierThan(first)).toBeNull();
    });

    test('is what all of them have shown, not the newest alone', async () => {
      await begun(first, shown({ firstTokenMs: 900 }));
      await begun(second, shown({ phase: 'prefill', charsReceived: 0, firstTokenMs: null }));
      expect(await earlierThan(third)).toEqual({
        ...{ count: 2, hasStreamed: true, firstTokenMs: 900, phase: 'prefill', estimatedInputTokens: null },
      });
    });

    test('holds the longest wait for a first token', async () => {
      await begun(first, shown({ firstTokenMs: 300 }));
      await begun(second, shown({ firstTokenMs: 800 }));
      await begun(third, shown({ firstTokenMs: 500 }));
      expect(await earlierThan(aBegin({ dispatch: 2, attempt: 2 }))).toMatchObject({ count: 3, firstTokenMs: 800 });
    });

    test('is also what a try told at its end', async () => {
      await begun(first);
      await fixture.store.endTry(toRef(first), { isRefused: false, evidence: shown({ firstTokenMs: 250 }) });
      expect(await earlierThan(second)).toMatchObject({ hasStreamed: true, firstTokenMs: 250 });
    });

    test('without content is no streaming', async () => {
      await begun(first, shown({ phase: 'prefill', charsReceived: 0, firstTokenMs: null }));
      expect(await earlierThan(second)).toMatchObject({ hasStreamed: false, firstTokenMs: null });
    });

    test('is streaming also where only a text was written, as older workers do', async () => {
      await begun(first);
      await fixture.store.appendTryOutputs(toRef(first), [aDelta(first, 0)]);
      expect(await earlierThan(second)).toMatchObject({ hasStreamed: true, firstTokenMs: null, phase: null });
    });

    test('of another model says nothing of this one', async () => {
      await begun(first, shown());
      const next = aBegin({ dispatch: 2, link: 1 });
      expect(await earlierThan(next)).toMatchObject({ count: 1, hasStreamed: false, firstTokenMs: null });
      await fixture.store.appendTryOutputs(toRef(next), [], shown({ firstTokenMs: 50 }));
      expect(await earlierThan({ ...next, attempt: 2 })).toMatchObject({ hasStreamed: true, firstTokenMs: 50 });
    });

    test('is kept by each call for itself', async () => {
      await begun(first, shown());
      await fixture.store.finishTry(aFinish(first, 't1/c1.in0'));
      expect(await earlierThan(aBegin({ callId: 't1/c2', head: 't1/c1.out', append: [] }))).toBeNull();
    });
  });

  test('evidence passes the fence like any write', async () => {
    await begun(first);
    await begun(second);
    await expect(fixture.store.appendTryOutputs(toRef(first), [], shown())).rejects.toThrow('newer try');
    expect(await earlierThan(third)).toMatchObject({ hasStreamed: false });
  });

  test('a discard tells the phase that its try was seen in', async () => {
    await begun(first);
    await fixture.store.appendTryOutputs(toRef(first), [aDelta(first, 0)], shown({ phase: 'thinkingGap' }));
    await begun(second);
    expect((await journal(fixture.store)).at(-1)).toMatchObject({ kind: 'TextStreamDiscarded', phase: 'thinkingGap' });
  });

  describe('what a turn discarded', () => {
    test('is left out when nothing was', async () => {
      await fixture.store.finishTry(aSettlingFinish(first, await begunBase(fixture.store, first)));
      expect(await endedTurn()).toEqual({});
    });

    test('counts every try but the one that completed its call', async () => {
      await begun(first, shown({ charsReceived: 40 }));
      await begun(second, shown({ charsReceived: 2 }));
      await fixture.store.finishTry(aSettlingFinish(third, await begunBase(fixture.store, third)));
      expect(await endedTurn()).toEqual({ attempts: 2, input: null, chars: 42 });
    });

    test('counts the tries of a call that was never completed, the last one too', async () => {
      await begun(first, shown());
      await begun(second);
      await endTurn();
      expect(await endedTurn()).toEqual({ attempts: 2, input: null, chars: 40 });
    });

    test('is estimated by the last call of the session that had completed, once a try', async () => {
      const head = await finishedCall(fixture.store, first);
      const next = aBegin({ callId: 't1/c2', head, append: [] });
      await begun(next, shown());
      await begun({ ...next, attempt: 2, taskToken: 'two' });
      await endTurn();
      expect(await endedTurn()).toEqual({ attempts: 2, input: 2 * INPUT_TOKENS, chars: 40 });
    });

    test('is not estimated when for one of its tries nobody knows', async () => {
      await begun(first);
      const base = await begunBase(fixture.store, second);
      await fixture.store.finishTry(aFinish(second, base));
      const next = aBegin({ callId: 't1/c2', head: 't1/c1.out', append: [] });
      await begun(next);
      await endTurn();
      expect(await endedTurn()).toEqual({ attempts: 2, input: null, chars: 0 });
    });

    test('does not count requests that were refused', async () => {
      await begun(first);
      await fixture.store.endTry(toRef(first), { isRefused: true });
      await fixture.store.finishTry(aSettlingFinish(third, await begunBase(fixture.store, third)));
      expect(await endedTurn()).toEqual({});
    });

    test('counts tries that ended in another way', async () => {
      await begun(first);
      await fixture.store.endTry(toRef(first));
      await fixture.store.finishTry(aSettlingFinish(third, await begunBase(fixture.store, third)));
      expect(await endedTurn()).toEqual({ attempts: 1, input: null, chars: 0 });
    });
  });

  describe('how a call fell silent', () => {
    const stall = { phase: null, budgetMs: 60_000, tries: 3, elapsedMs: 180_000 };
    const timeout = aRecord({ outcomes: [anOutcome('t1', { outcome: 'timeout', stall })] });

    test('is in the outcome and in TurnEnded, with the phase that its last try wrote', async () => {
      await begun(first, shown({ phase: 'reasoning' }));
      await begun(second, shown({ phase: 'prefill' }));
      await fixture.store.record(timeout);
      const told = { stall: { ...stall, phase: 'prefill' } };
      expect(await fixture.store.findOutcome(SESSION, 't1')).toMatchObject(told);
      expect((await journal(fixture.store)).at(-1)).toMatchObject({ kind: 'TurnEnded', ...told });
    });

    test('stands as the session knows it', async () => {
      await begun(first, shown({ phase: 'reasoning' }));
      const known = { ...stall, phase: 'streaming' as const };
      await fixture.store.record(aRecord({ outcomes: [anOutcome('t1', { outcome: 'timeout', stall: known })] }));
      expect(await fixture.store.findOutcome(SESSION, 't1')).toMatchObject({ stall: known });
    });

    test('stays unknown when no try of it ever wrote', async () => {
      await fixture.store.record(timeout);
      expect(await fixture.store.findOutcome(SESSION, 't1')).toMatchObject({ stall });
    });
  });
}
