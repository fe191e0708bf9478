import type { NewOutput, OutputKind } from '../../../protocol/outputs.js';
import {
  aBegin,
  aDelta,
  aNotice,
  anOutcome,
  aRecord,
  begunBase,
  journal,
  SESSION,
  streamingCall,
  toRef,
} from '../../support/store-builders.js';
import type { StoreFixture } from './store-fixture.js';

export function describeJournal(fixture: StoreFixture): void {
  const seqs = async () => (await journal(fixture.store)).map((output) => output.seq);

  test('numbers outputs from 1 without holes, repeats and refusals notwithstanding', async () => {
    const { store } = fixture;
    const begin = aBegin({ attempt: 2 });
    await begunBase(store, begin);
    await store.appendTryOutputs(toRef(begin), [aDelta(begin, 0), aDelta(begin, 1), aDelta(begin, 1)]);
    await store.appendTryOutputs(toRef(begin), [aDelta(begin, 1), aDelta(begin, 2)]);
    const stale = aBegin({ attempt: 1 });
    await expect(store.appendTryOutputs(toRef(stale), [aDelta(stale, 0)])).rejects.toThrow();
    await store.record(aRecord({ outputs: [aNotice('n1')] }));
    expect(await seqs()).toEqual([1, 2, 3, 4, 5]);
    expect(await store.lastSeqs([SESSION])).toEqual(new Map([[SESSION, 5]]));
  });

  test('an output written twice keeps what the first said', async () => {
    const { store } = fixture;
    await store.record(aRecord({ outputs: [aNotice('n1', 'first'), aNotice('n1', 'second')] }));
    await store.record(aRecord({ outputs: [aNotice('n1', 'third')] }));
    expect(await journal(store)).toMatchObject([{ message: 'first' }]);
  });

  test('gives an output as it was written, with its place and time and without its key', async () => {
    const { store } = fixture;
    const before = Date.now();
    await store.record(aRecord({ outputs: [aNotice('n1', 'Grüße \u2028 \ud83d\ude00')] }));
    const [output] = await journal(store);
    const { key: _, ...body } = aNotice('n1', 'Grüße \u2028 \ud83d\ude00');
    expect(output).toEqual({ ...body, seq: 1, atMs: expect.any(Number) });
    expect(output?.atMs).toBeGreaterThanOrEqual(before);
    expect(output?.atMs).toBeLessThanOrEqual(Date.now());
  });

  test('is read in pages, each session its own', async () => {
    const { store } = fixture;
    const notices = Array.from({ length: 7 }, (_, index) => aNotice(`n${index}`));
    await store.record(aRecord({ outputs: notices }));
    await store.record(aRecord({ sessionId: 'acme/s2', outputs: [aNotice('n0')] }));
    const page = await store.readOutputs({ sessionId: SESSION, afterSeq: 2, limit: 3 });
    expect(page.map((output) => output.seq)).toEqual([3, 4, 5]);
    expect(await store.readOutputs({ sessionId: SESSION, afterSeq: 7, limit: 3 })).toEqual([]);
  });

  test('its newest place is known for many sessions at once', async () => {
    const { store } = fixture;
    await store.record(aRecord({ outputs: [aNotice('n0'), aNotice('n1')] }));
    await store.record(aRecord({ sessionId: 'acme/s2', outputs: [aNotice('n0')] }));
    const seqs = await store.lastSeqs([SESSION, 'acme/s2', 'acme/never']);
    expect([...seqs].sort()).toEqual([
      [SESSION, 2],
      ['acme/s2', 1],
    ]);
    expect(await store.lastSeqs([])).toEqual(new Map());
  });

  test('a filter lets through what it names and what no reader may miss', async () => {
    const { store } = fixture;
    await streamingCall(store, aBegin());
    await store.record(aRecord({ outputs: [aNotice('n1')], outcomes: [anOutcome('t1')] }));
    const read = async (kinds: OutputKind[]) =>
      (await store.readOutputs({ sessionId: SESSION, afterSeq: 0, limit: 9, kinds })).map((output) => output.kind);
    expect(await read(['Notice'])).toEqual(['Notice', 'TextStreamDiscarded', 'TurnEnded']);
    expect(await read([])).toEqual(['TextStreamDiscarded', 'TurnEnded']);
  });

  test('a kind that a newer program wrote is handed on', async () => {
    const { store } = fixture;
    const newer = { kind: 'FromTheFuture', key: 'f1', detail: { deep: [1] } } as unknown as NewOutput;
    await store.record(aRecord({ outputs: [newer] }));
    expect(await journal(store)).toEqual([
      { kind: 'FromTheFuture', detail: { deep: [1] }, seq: 1, atMs: expect.any(Number) },
    ]);
  });

  test('takes thousands of outputs at once, with the same repeated', async () => {
    const { store } = fixture;
    const many = Array.from({ length: 6_789 }, (_, index) => aNotice(`n${index}`));
    await store.record(aRecord({ outputs: many.slice(0, 1_000) }));
    await store.record(aRecord({ outputs: many }));
    expect(await seqs()).toEqual(many.map((_, index) => index + 1));
  });

  test('no outputs cost no transaction, not even the fence', async () => {
    await fixture.store.appendTryOutputs(toRef(aBegin()), []);
    expect(await fixture.store.findSession(SESSION)).toBeNull();
  });
}
