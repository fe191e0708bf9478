import {
  aBegin,
  aMessage,
  anItem,
  aNotice,
  anOutcome,
  aRecord,
  finishedCall,
  journal,
  journalKinds,
  SESSION,
  streamingCall,
  USAGE,
} from '../../support/store-builders.js';
import type { StoreFixture } from './store-fixture.js';

export function describeRecord(fixture: StoreFixture): void {
  async function aTurnOfThreeCalls(): Promise<void> {
    const { store } = fixture;
    const first = await finishedCall(store, aBegin(), 'Let me look.');
    const second = await finishedCall(store, aBegin({ callId: 't1/c2', head: first, append: [] }), '');
    await finishedCall(store, aBegin({ callId: 't1/c3', head: second, append: [] }), 'Done.');
  }

  test('an outcome holds the texts of its completed calls, in order and without the empty ones', async () => {
    const { store } = fixture;
    await aTurnOfThreeCalls();
    const source = { kind: 'message' as const, key: 'm1' };
    await store.record(aRecord({ outcomes: [anOutcome('t1', { source, silent: true })] }));

    expect(await store.findOutcome(SESSION, 't1')).toEqual({
      sessionId: SESSION,
      turnId: 't1',
      outcome: 'completed',
      reason: null,
      source,
      silent: true,
      segments: ['Let me look.', 'Done.'],
      text: 'Let me look.\n\nDone.',
      partial: null,
      usage: USAGE,
      startedAtMs: 1_000,
      endedAtMs: 2_000,
    });
    const { turnId, outcome, text, silent, usage } = (await store.findOutcome(SESSION, 't1'))!;
    const ended = { kind: 'TurnEnded', turnId, outcome, reason: null, text, usage, source, silent };
    expect((await journal(store)).at(-1)).toMatchObject(ended);
  });

  test('text that was only streamed is in no outcome, and neither is that of another turn', async () => {
    const { store } = fixture;
    const head = await finishedCall(store, aBegin(), 'mine');
    await streamingCall(store, aBegin({ callId: 't1/c2', head, append: [] }));
    await finishedCall(store, aBegin({ turnId: 't2', head, append: [aMessage('m2')] }), 'of another');
    await store.record(aRecord({ outcomes: [anOutcome('t1', { outcome: 'failed', reason: 'why' })] }));
    expect(await store.findOutcome(SESSION, 't1')).toMatchObject({ text: 'mine', reason: 'why', outcome: 'failed' });
  });

  test('the same record twice changes nothing', async () => {
    const { store } = fixture;
    await aTurnOfThreeCalls();
    const input = aRecord({ outputs: [aNotice('n1')], outcomes: [anOutcome('t1')], items: [anItem('m1')] });
    await store.record(input);
    const after = [await journal(store), await store.findOutcome(SESSION, 't1'), await store.findItem(SESSION, 'm1')];
    const session = await store.findSession(SESSION);
    await store.record(input);
    expect([await journal(store), await store.findOutcome(SESSION, 't1'), await store.findItem(SESSION, 'm1')]).toEqual(
      after,
    );
    expect(await store.findSession(SESSION)).toEqual({ ...session, updatedAtMs: expect.any(Number) });
  });

  test('the first outcome of a turn stands', async () => {
    const { store } = fixture;
    await store.record(aRecord({ outcomes: [anOutcome('t1', { outcome: 'aborted' })] }));
    await store.record(aRecord({ outcomes: [anOutcome('t1', { outcome: 'completed', endedAtMs: 3_000 })] }));
    expect(await store.findOutcome(SESSION, 't1')).toMatchObject({ outcome: 'aborted' });
    expect(await store.findSession(SESSION)).toMatchObject({ turns: 1, lastOutcome: 'aborted' });
    expect(await journalKinds(store)).toEqual(['TurnEnded']);
  });

  test('several turns are recorded in order, after the outputs that came with them', async () => {
    const { store } = fixture;
    await store.record(aRecord({ outputs: [aNotice('n1')], outcomes: [anOutcome('t1'), anOutcome('t2')] }));
    expect((await journal(store)).map((output) => ('turnId' in output ? output.turnId : output.kind))).toEqual([
      'Notice',
      't1',
      't2',
    ]);
  });

  test('an end of an item is final: it is neither made pending again nor replaced', async () => {
    const { store } = fixture;
    await store.record(aRecord({ items: [anItem('m1', { fate: 'pending', turnId: null })] }));
    await store.record(aRecord({ items: [anItem('m1', { fate: 'answered', turnId: 't1' })] }));
    await store.record(aRecord({ items: [anItem('m1', { fate: 'pending', turnId: 't2' })] }));
    await store.record(aRecord({ items: [anItem('m1', { fate: 'dropped', turnId: 't3', contentHash: 'other' })] }));
    expect(await store.findItem(SESSION, 'm1')).toEqual(anItem('m1', { fate: 'answered', turnId: 't1' }));
  });

  test('an item given several times in one record ends as its first end says', async () => {
    const { store } = fixture;
    const fates = ['pending', 'steered', 'pending', 'dropped'] as const;
    await store.record(aRecord({ items: fates.map((fate) => anItem('m1', { fate })) }));
    expect(await store.findItem(SESSION, 'm1')).toMatchObject({ fate: 'steered' });
  });

  test('what is not known is null', async () => {
    const { store } = fixture;
    expect(await store.findOutcome(SESSION, 't1')).toBeNull();
    expect(await store.findItem(SESSION, 'm1')).toBeNull();
    expect(await store.findSession(SESSION)).toBeNull();
  });
}
