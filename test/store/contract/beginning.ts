import { TranscriptMissingError } from '../../../store/session-store.js';
import {
  aBegin,
  aMessage,
  begunBase,
  aTool,
  finishedCall,
  journal,
  journalKinds,
  SESSION,
  spoken,
} from '../../support/store-builders.js';
import type { StoreFixture } from './store-fixture.js';

export function describeBeginning(fixture: StoreFixture): void {
  test('adds the inputs in order, writes the outputs known at dispatch and makes the session', async () => {
    const { store } = fixture;
    const base = await begunBase(store, aBegin({ append: [aMessage('m1'), aMessage('m2')] }));

    const transcript = await store.transcript(SESSION, base);
    expect(transcript.map(({ id, parentId }) => [id, parentId])).toEqual([
      ['t1/c1.in0', null],
      ['t1/c1.in1', 't1/c1.in0'],
    ]);
    expect(transcript[0]?.content).toEqual({
      kind: 'user',
      messageId: 'm1',
      parts: [{ kind: 'text', text: 'text of m1' }],
    });
    expect(await journalKinds(store)).toEqual(['TurnStarted']);
    expect(await store.findSession(SESSION)).toMatchObject({
      tenant: 'acme',
      name: 's1',
      agent: 'coder',
      status: 'running',
    });
  });

  test('claims its messages for the turn', async () => {
    await fixture.store.beginTry(aBegin());
    expect(await fixture.store.findItem(SESSION, 'm1')).toEqual({
      itemId: 'm1',
      fate: 'pending',
      turnId: 't1',
      contentHash: 'hash of text of m1',
    });
  });

  test('without inputs stands at the head it was given', async () => {
    const { store } = fixture;
    const head = await finishedCall(store, aBegin());
    expect(await begunBase(store, aBegin({ callId: 't1/c2', head, append: [] }))).toBe(head);
  });

  test('a later try of the call finds the same base, inputs and outputs', async () => {
    const { store } = fixture;
    const first = await store.beginTry(aBegin());
    const written = await journal(store);
    const second = await store.beginTry(aBegin({ attempt: 2 }));
    expect(second).toEqual({ ...first, earlier: expect.objectContaining({ count: 1 }) as unknown });
    expect(await journal(store)).toEqual(written);
  });

  test('the same try delivered again begins again and writes nothing twice', async () => {
    const { store } = fixture;
    const first = await store.beginTry(aBegin());
    const written = await journal(store);
    expect(await store.beginTry(aBegin())).toEqual(first);
    expect(await journal(store)).toEqual(written);
  });

  test('a head that the store does not hold is refused, and nothing is written', async () => {
    const { store } = fixture;
    const refused = store.beginTry(aBegin({ head: 'gone.out' }));
    await expect(refused).rejects.toThrow(TranscriptMissingError);
    await expect(refused).rejects.toMatchObject({ head: 'gone.out', message: expect.stringContaining(SESSION) });
    expect(await store.findSession(SESSION)).toBeNull();
    expect(await store.findItem(SESSION, 'm1')).toBeNull();
  });

  test('a call known with other inputs is refused: the session is older than the store', async () => {
    const { store } = fixture;
    await finishedCall(store, aBegin());
    const refused = store.beginTry(aBegin({ inputHash: 'other inputs' }));
    await expect(refused).rejects.toThrow(TranscriptMissingError);
    await expect(refused).rejects.toThrow(/newer than the session/);
  });

  test('the head of another session is refused', async () => {
    const { store } = fixture;
    const head = await finishedCall(store, aBegin());
    await expect(store.beginTry(aBegin({ sessionId: 'acme/s2', head }))).rejects.toThrow(TranscriptMissingError);
  });

  test('tool results come from the store; a missing one is told as unknown, with why', async () => {
    const { store } = fixture;
    const head = await finishedCall(store, aBegin());
    await store.beginTool(aTool());
    await store.finishTool({ ...aTool(), result: { ok: true, output: 'sent' } });
    const results = [aToolResult('t1/c1/tool0', null), aToolResult('t1/c1/tool1', 'the worker was lost')];
    const base = await begunBase(store, aBegin({ callId: 't1/c2', head, append: results }));

    const [, , known, unknown] = spoken(await store.transcript(SESSION, base));
    expect(known).toBe('tool ok sent');
    expect(unknown).toBe(
      'tool error The outcome of this call is unknown (the worker was lost). Do not repeat it without checking.',
    );
  });

  test('a tool result that arrives between two tries changes nothing: both ask the same question', async () => {
    const { store } = fixture;
    const head = await finishedCall(store, aBegin());
    const begin = aBegin({ callId: 't1/c2', head, append: [aToolResult('t1/c1/tool0', 'no answer')] });
    await store.beginTool(aTool());
    const before = await store.transcript(SESSION, await begunBase(store, begin));
    await store.finishTool({ ...aTool(), result: { ok: true, output: 'late' } });
    const after = await store.transcript(SESSION, await begunBase(store, { ...begin, attempt: 2, taskToken: 'other' }));
    expect(after).toEqual(before);
  });
}

function aToolResult(toolCallId: string, lost: string | null) {
  return { kind: 'toolResult' as const, toolCallId, name: 'send_mail', lost };
}
