import {
  aBegin,
  aFinish,
  aMessage,
  anItem,
  anOutcome,
  aRecord,
  aSettlingFinish,
  begunBase,
  finishedCall,
  journal,
  journalKinds,
  SESSION,
  spoken,
  toRef,
  USAGE,
} from '../../support/store-builders.js';
import { type SessionStore, StaleTryError, TranscriptMissingError } from '../../../store/session-store.js';
import type { StoreFixture } from './store-fixture.js';

export function describeFinishing(fixture: StoreFixture): void {
  test('adds the answer behind the inputs and writes its outputs', async () => {
    const { store } = fixture;
    const head = await finishedCall(store, aBegin(), 'hello');
    expect(spoken(await store.transcript(SESSION, head))).toEqual(['user m1', 'assistant hello']);
    expect(await store.findEntry(SESSION, head)).toMatchObject({ id: head, parentId: 't1/c1.in0' });
    expect(await journalKinds(store)).toEqual(['TurnStarted', 'TextOutput']);
  });

  test('a try of a finished call gets the result and is not paid again', async () => {
    const { store } = fixture;
    const begin = aBegin();
    const finish = aFinish(begin, await begunBase(store, begin));
    await store.finishTry(finish);
    const written = await journal(store);
    expect(await store.beginTry(aBegin({ dispatch: 2 }))).toEqual({ kind: 'finished', result: finish.result });
    expect(await store.beginTry(begin)).toEqual({ kind: 'finished', result: finish.result });
    expect(await journal(store)).toEqual(written);
  });

  test('repeated by the same try it changes nothing', async () => {
    const { store } = fixture;
    const begin = aBegin();
    const finish = aFinish(begin, await begunBase(store, begin));
    await store.finishTry(finish);
    const written = await journal(store);
    await store.finishTry({ ...finish, content: [{ kind: 'text', text: 'other' }], outputs: [] });
    expect(await journal(store)).toEqual(written);
    expect(spoken(await store.transcript(SESSION, finish.result.head))).toEqual([
      'user m1',
      'assistant answer of t1/c1',
    ]);
  });

  describe('when the call ends its turn', () => {
    const steered = anItem('m2', { fate: 'steered' });
    const settles = { queued: 2, items: [anItem('m1'), steered] };
    const begin = aBegin({ append: [aMessage('m1'), aMessage('m2')] });

    /** Everything that is known of the turn. */
    async function knownOfTurn(store: SessionStore): Promise<unknown[]> {
      const { updatedAtMs: _, ...session } = (await store.findSession(SESSION))!;
      const items = [await store.findItem(SESSION, 'm1'), await store.findItem(SESSION, 'm2')];
      const answer = await store.findEntry(SESSION, 't1/c1.out');
      return [await journal(store), await store.findOutcome(SESSION, 't1'), items, session, answer];
    }

    test('its outcome, its messages’ fates and the session’s row are written with the answer', async () => {
      const { store } = fixture;
      const finish = aSettlingFinish(begin, await begunBase(store, begin), settles);
      await store.finishTry(finish);
      expect(await journalKinds(store)).toEqual(['TurnStarted', 'TextOutput', 'TurnEnded']);
      const source = { kind: 'message', key: 'm1' };
      expect((await journal(store)).at(-1)).toMatchObject({
        ...{ kind: 'TurnEnded', seq: 3, turnId: 't1', outcome: 'completed', reason: null },
        ...{ text: 'answer of t1/c1', usage: USAGE, source, silent: false },
      });
      expect(await store.findOutcome(SESSION, 't1')).toMatchObject({
        ...{ outcome: 'completed', segments: ['answer of t1/c1'], startedAtMs: 1_000, endedAtMs: 2_000 },
      });
      expect(await store.findItem(SESSION, 'm1')).toEqual(anItem('m1'));
      expect(await store.findItem(SESSION, 'm2')).toEqual(steered);
      expect(await store.findSession(SESSION)).toMatchObject({ queued: 2, turns: 1, lastOutcome: 'completed' });
      expect(spoken(await store.transcript(SESSION, finish.result.head)).at(-1)).toBe('assistant answer of t1/c1');
    });

    test('the session is idle when nothing waits, and its row knows the new head for a session started anew', async () => {
      const { store } = fixture;
      await store.finishTry(aSettlingFinish(begin, await begunBase(store, begin)));
      expect(await store.findSession(SESSION)).toMatchObject({ status: 'idle', queued: 0 });
      const anew = aBegin({ chain: 'chain-2', turnId: 'u1', append: [aMessage('m9')] });
      const base = await begunBase(store, anew);
      expect(spoken(await store.transcript(SESSION, base))).toContain('assistant answer of t1/c1');
    });

    test('the texts of the turn’s earlier calls are in its outcome', async () => {
      const { store } = fixture;
      const head = await finishedCall(store, begin, 'Let me look.');
      const last = aBegin({ callId: 't1/c2', head, append: [] });
      await store.finishTry(aSettlingFinish(last, await begunBase(store, last)));
      expect(await store.findOutcome(SESSION, 't1')).toMatchObject({ segments: ['Let me look.', 'answer of t1/c2'] });
    });

    test('a try after a crash gets the result, and the turn does not end twice', async () => {
      const { store } = fixture;
      const finish = aSettlingFinish(begin, await begunBase(store, begin), settles);
      await store.finishTry(finish);
      const known = await knownOfTurn(store);
      const again = { ...begin, attempt: 2, taskToken: 'token of 2' };
      const redispatched = { ...begin, dispatch: 2, taskToken: 'token of 3' };
      for (const next of [again, redispatched]) {
        expect(await store.beginTry(next)).toEqual({ kind: 'finished', result: finish.result });
      }
      await store.finishTry(finish);
      expect(await knownOfTurn(store)).toEqual(known);
    });

    test('a stale try settles nothing', async () => {
      const { store } = fixture;
      const base = await begunBase(store, begin);
      await begunBase(store, { ...begin, attempt: 2, taskToken: 'token of 2' });
      const known = await knownOfTurn(store);
      await expect(store.finishTry(aSettlingFinish(begin, base, settles))).rejects.toThrow(StaleTryError);
      expect(await knownOfTurn(store)).toEqual(known);
      expect(await store.findOutcome(SESSION, 't1')).toBeNull();
    });

    test('a turn that the session ended first stays as it ended', async () => {
      const { store } = fixture;
      const base = await begunBase(store, begin);
      await store.record(aRecord({ outcomes: [anOutcome('t1', { outcome: 'timeout' })], items: settles.items }));
      const known = await knownOfTurn(store);
      await expect(store.finishTry(aSettlingFinish(begin, base, settles))).rejects.toThrow(StaleTryError);
      expect(await knownOfTurn(store)).toEqual(known);
    });

    test('the session’s own outcome of a turn that its last call had settled changes nothing', async () => {
      const { store } = fixture;
      await store.finishTry(aSettlingFinish(begin, await begunBase(store, begin), settles));
      const known = await knownOfTurn(store);
      const late = anOutcome('t1', { outcome: 'interrupted', reason: 'its worker was lost', endedAtMs: 3_000 });
      await store.record(aRecord({ outcomes: [late], items: settles.items }));
      expect(await knownOfTurn(store)).toEqual(known);
    });

    test('what cannot be recorded leaves no answer either', async () => {
      const { store } = fixture;
      const base = await begunBase(store, begin);
      const known = await knownOfTurn(store);
      const broken = anOutcome('t1', { outcome: null as unknown as 'failed' });
      const refused = store.finishTry(aSettlingFinish(begin, base, { outcomes: [broken] }));
      // Not `toThrow`: a native error may be of another realm's class.
      await expect(refused).rejects.toHaveProperty('message');
      expect(await knownOfTurn(store)).toEqual(known);
      await store.finishTry(aSettlingFinish(begin, base));
      expect(await journalKinds(store)).toEqual(['TurnStarted', 'TextOutput', 'TurnEnded']);
    });
  });

  test('an answer that would not follow its own inputs is refused as a mistake', async () => {
    const { store } = fixture;
    const begin = aBegin();
    await begunBase(store, begin);
    await expect(store.finishTry(aFinish(begin, null))).rejects.toThrow(/cannot follow/);
    expect(await journalKinds(store)).toEqual(['TurnStarted']);
  });

  test('what a model produced is kept unchanged', async () => {
    const { store } = fixture;
    const begin = aBegin();
    const finish = aFinish(begin, await begunBase(store, begin));
    const call = { toolCallId: 'x', providerCallId: 'p', name: 'n', input: '{not json' };
    const content = [
      {
        kind: 'reasoning' as const,
        text: 'hm',
        providerOptions: { anthropic: { signature: 'Zürich\u0000\ud83d\ude00' } },
      },
      { kind: 'toolCall' as const, ...call },
    ];
    await store.finishTry({ ...finish, content });
    expect((await store.findEntry(SESSION, finish.result.head))?.content).toEqual({
      kind: 'assistant',
      model: 'test-model',
      parts: content,
    });
  });

  test('ending a try can be repeated, also for one that the store never saw', async () => {
    const { store } = fixture;
    await begunBase(store, aBegin());
    await store.endTry(toRef(aBegin()));
    await store.endTry(toRef(aBegin()));
    await store.endTry(toRef(aBegin({ callId: 'unknown' })));
  });

  test('a head names one transcript: forks from one entry do not see each other', async () => {
    const { store } = fixture;
    const head = await finishedCall(store, aBegin());
    const left = await finishedCall(store, aBegin({ turnId: 'left', head, append: [aMessage('l')] }));
    const right = await finishedCall(store, aBegin({ turnId: 'right', head, append: [aMessage('r')] }));
    expect(spoken(await store.transcript(SESSION, left)).slice(2)).toEqual(['user l', 'assistant answer of left/c1']);
    expect(spoken(await store.transcript(SESSION, right)).slice(2)).toEqual(['user r', 'assistant answer of right/c1']);
  });

  test('a transcript that the store does not hold is an error, an empty head an empty transcript', async () => {
    const { store } = fixture;
    const head = await finishedCall(store, aBegin());
    await expect(store.transcript('acme/s2', head)).rejects.toThrow(TranscriptMissingError);
    expect(await store.transcript(SESSION, null)).toEqual([]);
    expect(await store.findEntry('acme/s2', head)).toBeNull();
  });
}
