import {
  aBegin,
  aFinish,
  aMessage,
  begunBase,
  finishedCall,
  journal,
  journalKinds,
  SESSION,
  spoken,
  toRef,
} from '../../support/store-builders.js';
import { TranscriptMissingError } from '../../../store/session-store.js';
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
