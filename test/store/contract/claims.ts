import {
  aBegin,
  aMessage,
  anItem,
  anOutcome,
  aRecord,
  aTurnStarted,
  begunBase,
  finishedCall,
  journal,
  requireBegun,
  SESSION,
  spoken,
} from '../../support/store-builders.js';
import type { StoreFixture } from './store-fixture.js';

export function describeClaims(fixture: StoreFixture): void {
  async function answered(): Promise<string> {
    const head = await finishedCall(fixture.store, aBegin());
    await fixture.store.record(aRecord({ outcomes: [anOutcome('t1')], items: [anItem('m1')] }));
    return head;
  }

  test('a repeat of a reminder is told as one', async () => {
    const { store } = fixture;
    const head = await finishedCall(store, aBegin({ append: [aMessage('reminder:r1:1000')] }));
    await store.record(aRecord({ outcomes: [anOutcome('t1')], items: [anItem('reminder:r1:1000')] }));
    await store.beginTry(aBegin({ turnId: 't2', head, append: [aMessage('reminder:r1:1000')] }));
    expect((await journal(store)).at(-1)).toMatchObject({
      ...{ kind: 'ReminderReceived', reminderId: 'r1', dueMs: 1_000 },
      disposition: { kind: 'duplicate', fate: 'answered', turnId: 't1' },
    });
  });

  test('a repeat that would open a turn is told what became of the first, and starts nothing', async () => {
    const { store } = fixture;
    const head = await answered();
    const written = await journal(store);
    const begun = await store.beginTry(
      aBegin({ turnId: 't2', head, append: [aMessage('m1'), aMessage('m2')], outputs: [aTurnStarted('t2')] }),
    );

    expect(begun).toEqual({ kind: 'repeated', first: anItem('m1') });
    expect((await journal(store)).slice(written.length)).toMatchObject([
      {
        kind: 'MessageReceived',
        messageId: 'm1',
        disposition: { kind: 'duplicate', fate: 'answered', turnId: 't1', contentDiffers: false },
      },
    ]);
    expect(await store.findItem(SESSION, 'm2')).toBeNull();
    await expect(store.transcript(SESSION, 't2/c1.in0')).rejects.toThrow();
    await expect(store.appendTryOutputs(aBegin({ turnId: 't2' }), [aTurnStarted('t2')])).rejects.toThrow(
      /has not begun/,
    );
  });

  test('the repeat is answered the same when its call is tried again', async () => {
    const { store } = fixture;
    const head = await answered();
    const repeat = aBegin({ turnId: 't2', head });
    const first = await store.beginTry(repeat);
    const written = await journal(store);
    expect(await store.beginTry({ ...repeat, attempt: 2 })).toEqual(first);
    expect(await journal(store)).toEqual(written);
  });

  test('a repeat whose content differs says so', async () => {
    const { store } = fixture;
    const head = await answered();
    await store.beginTry(aBegin({ turnId: 't2', head, append: [aMessage('m1', 'other words')] }));
    expect((await journal(store)).at(-1)).toMatchObject({ disposition: { kind: 'duplicate', contentDiffers: true } });
  });

  test('a repeat behind the opening message is left out, and the turn goes on', async () => {
    const { store } = fixture;
    const head = await answered();
    const begin = aBegin({ turnId: 't2', head, append: [aMessage('m2'), aMessage('m1'), aMessage('m3')], outputs: [] });
    const begun = requireBegun(await store.beginTry(begin));

    expect(begun.repeats).toEqual([anItem('m1')]);
    expect(spoken(await store.transcript(SESSION, begun.base)).slice(2)).toEqual(['user m2', 'user m3']);
    expect((await journal(store)).at(-1)).toMatchObject({ kind: 'MessageReceived', messageId: 'm1' });
  });

  test('a repeat at the front of a later call of the turn is left out too', async () => {
    const { store } = fixture;
    const head = await answered();
    const next = await finishedCall(store, aBegin({ turnId: 't2', head, append: [aMessage('m2')] }));
    const begun = await store.beginTry(aBegin({ turnId: 't2', callId: 't2/c2', head: next, append: [aMessage('m1')] }));
    expect(begun).toMatchObject({ kind: 'begun', base: next, repeats: [anItem('m1')] });
  });

  test('a turn may append its own message again in a later call: no answer followed it', async () => {
    const { store } = fixture;
    await begunBase(store, aBegin());
    const base = await begunBase(store, aBegin({ callId: 't1/c2' }));
    expect(spoken(await store.transcript(SESSION, base))).toEqual(['user m1']);
  });

  test("a later turn may append what an ended one took in, and it stays that one's", async () => {
    const { store } = fixture;
    await begunBase(store, aBegin());
    await store.record(aRecord({ outcomes: [anOutcome('t1', { outcome: 'failed' })], items: [anItem('m1')] }));
    const carried = { ...aMessage('m1'), turnId: 't1' };
    const begun = requireBegun(await store.beginTry(aBegin({ turnId: 't2', append: [carried, aMessage('m2')] })));
    expect(begun.repeats).toEqual([]);
    expect(spoken(await store.transcript(SESSION, begun.base))).toEqual(['user m1', 'user m2']);
    expect(await store.findItem(SESSION, 'm1')).toEqual(anItem('m1'));
  });

  test('a repeat that opens a turn behind a carried message still starts nothing', async () => {
    const { store } = fixture;
    const head = await answered();
    await begunBase(store, aBegin({ turnId: 't2', head, append: [aMessage('m2')] }));
    const carried = { ...aMessage('m2'), turnId: 't2' };
    const begun = await store.beginTry(aBegin({ turnId: 't3', head, append: [carried, aMessage('m1')] }));
    expect(begun).toEqual({ kind: 'repeated', first: anItem('m1') });
    expect(await store.findEntry(SESSION, 't3/c1.in0')).toBeNull();
  });

  test('a message given twice in one call enters the transcript once', async () => {
    const { store } = fixture;
    const begin = aBegin({ append: [aMessage('m1'), aMessage('m1')] });
    const begun = requireBegun(await store.beginTry(begin));
    expect(spoken(await store.transcript(SESSION, begun.base))).toEqual(['user m1']);
    expect(begun.repeats).toEqual([anItem('m1', { fate: 'pending' })]);
    expect(await store.beginTry(begin)).toEqual(begun);
  });

  test('a message that was recorded as waiting is taken by its turn', async () => {
    const { store } = fixture;
    await store.record(aRecord({ items: [anItem('m1', { fate: 'pending', turnId: null })] }));
    const base = await begunBase(store, aBegin());
    expect(spoken(await store.transcript(SESSION, base))).toEqual(['user m1']);
    expect(await store.findItem(SESSION, 'm1')).toMatchObject({ turnId: 't1' });
  });

  test('a message that ended without a turn is a repeat when it comes again', async () => {
    const { store } = fixture;
    const refused = anItem('m1', { fate: 'refused', turnId: null });
    await store.record(aRecord({ items: [refused] }));
    expect(await store.beginTry(aBegin())).toEqual({ kind: 'repeated', first: refused });
  });

  test('the same message id in another session is another message', async () => {
    await answered();
    expect((await fixture.store.beginTry(aBegin({ sessionId: 'acme/s2' }))).kind).toBe('begun');
  });
}
