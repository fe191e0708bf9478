import type { OutcomeKind } from '../../../protocol/fates.js';
import { LIMITS } from '../../../protocol/limits.js';
import { UNKNOWN_USAGE } from '../../../protocol/usage.js';
import { contentHash } from '../../../workflows/session/content-hash.js';
import type { Change } from '../../../workflows/session/effects.js';
import type { SessionState } from '../../../workflows/session/state.js';
import {
  answers,
  asksFor,
  asksOnce,
  aSession,
  aSessionWith,
  after,
  callOf,
  CHAIN,
  dispositionsOf,
  effectOf,
  effectsOf,
  fails,
  fateOf,
  isRepeat,
  messageIds,
  noticesOf,
  NOW_MS,
  opened,
  placeOf,
  queuedIds,
  receives,
  recorded,
  timerFires,
  toldBy,
  toolEnds,
  turnOf,
  USAGE,
  when,
} from '../../support/session-builders.js';

const running = () => aSession(receives('m1'));

describe('an answer', () => {
  test('frees the session and leaves nothing to record: its call has done that', () => {
    const change = when(running(), answers());
    const turnId = `${CHAIN}-1`;
    expect(change.effects).toEqual([]);
    expect(change.state).toMatchObject({
      ...{ turn: null, head: `${turnId}.1.out`, model: 'test-model', usage: USAGE, carried: [] },
      unrecorded: { outcomes: [], items: [] },
      lastOutcome: { turnId, outcome: 'completed', reason: null },
    });
    expect(change.state.seen).toMatchObject([{ id: 'm1', fate: 'answered', turnId }]);
  });

  test.each<[OutcomeKind, string | null]>([
    ['completed', null],
    ['completed', 'it was cut after some text'],
    ['failed', 'it was cut before any text'],
  ])('ends the turn as its call says: %s, %s', (outcome, reason) => {
    const { state } = when(running(), answers({ outcome, reason }));
    expect(placeOf(state)).toBe('idle');
    expect(state.lastOutcome).toEqual({ turnId: `${CHAIN}-1`, outcome, reason });
    expect(fateOf(state, 'm1')).toBe('answered');
  });

  test('that the server had to try again for costs the turn its resumes', () => {
    const state = after(running(), asksOnce({ attempt: 3 }));
    expect(turnOf(state).used.resumes).toBe(2);
  });

  test('adds to the usage of the turn and of the session', () => {
    const state = after(running(), asksFor('look'), toolEnds(0), answers());
    expect(state.usage).toMatchObject({ uncachedInputTokens: 20, outputTokens: 6, cacheWriteTokens: null });
  });
});

describe('what a call could record of its turn', () => {
  const settlementOf = (change: Change) => effectOf(change, 'callModel').input.settlement;
  const anItem = (itemId: string) => ({
    itemId,
    contentHash: contentHash([{ kind: 'text', text: `text of ${itemId}` }]),
  });

  test('is, in its first call, the message that opened it and nothing used', () => {
    const change = when(aSession(), receives('m1', { silent: true }));
    expect(settlementOf(change)).toEqual({
      ...{ source: { kind: 'message', key: 'm1' }, silent: true, startedAtMs: NOW_MS, usage: UNKNOWN_USAGE, queued: 0 },
      items: [anItem('m1')],
    });
  });

  test('holds every message that has joined, what the calls so far have used, and how many wait', () => {
    const state = after(running(), receives('m2'), receives('m3', { mode: 'queue' }), asksFor('look'), receives('m4'));
    const change = when(state, toolEnds(0), { nowMs: NOW_MS + 5_000 });
    expect(settlementOf(change)).toMatchObject({
      ...{ source: { key: 'm1' }, silent: false, startedAtMs: NOW_MS, usage: USAGE, queued: 1 },
      items: [anItem('m1'), anItem('m2'), anItem('m4')],
    });
  });

  test('is known anew with each dispatch of a call, and what may join waits for another call', () => {
    const state = after(running(), receives('m2'), receives('m3', { mode: 'queue' }));
    expect(settlementOf(when(state, fails('WorkerLost')))).toMatchObject({ items: [anItem('m1')], queued: 1 });
    const busy = after(state, fails('ModelBusy'), receives('m4', { mode: 'queue' }));
    expect(settlementOf(when(busy, timerFires))).toMatchObject({ items: [anItem('m1')], queued: 2 });
  });

  test('crosses continue-as-new between two calls', () => {
    const state = after(running(), asksFor('look'), receives('m2'), recorded);
    const between = when(state, toolEnds(0), { rollOverDue: true }).state;
    const change = when(JSON.parse(JSON.stringify(between)) as SessionState, opened);
    expect(settlementOf(change)).toMatchObject({ items: [anItem('m1'), anItem('m2')], usage: USAGE, queued: 0 });
  });

  test('leaves out a message that an earlier call found to be a repeat', () => {
    const first = { itemId: 'm2', fate: 'withdrawn' as const, turnId: null, contentHash: 'older' };
    const joined = after(running(), receives('m2'), receives('m3'), asksFor('look'), toolEnds(0));
    const change = when(after(joined, asksOnce({ repeats: [first] })), toolEnds(0));
    expect(settlementOf(change).items).toEqual([anItem('m1'), anItem('m3')]);
  });

  test('counts the messages that a turn gave back and the next one did not open with', () => {
    const change = when(after(running(), receives('m2'), receives('m3'), recorded), answers());
    expect(settlementOf(change)).toMatchObject({ source: { key: 'm2' }, items: [anItem('m2')], queued: 1 });
  });
});

describe('a steered message', () => {
  const steered = () => after(running(), receives('m2'), receives('m3'), recorded, recorded);
  const joined = () => after(steered(), asksFor('look'), toolEnds(0));

  test('joins at the next step boundary, after the tool results', () => {
    const state = after(steered(), asksFor('look'), receives('m4'), toolEnds(0));
    expect(callOf(state).append).toMatchObject([
      { kind: 'toolResult' },
      { messageId: 'm2' },
      { messageId: 'm3' },
      { messageId: 'm4' },
    ]);
    expect(turnOf(state)).toMatchObject({ steers: [], itemIds: ['m1', 'm2', 'm3', 'm4'] });
  });

  test('is told that it has joined by the call that takes it in', () => {
    const change = when(after(steered(), asksFor('look')), toolEnds(0));
    for (const id of ['m2', 'm3']) {
      expect(dispositionsOf(change, id)).toEqual([{ kind: 'steered', turnId: `${CHAIN}-1` }]);
    }
    expect(effectOf(change, 'callModel').input.outputs).toHaveLength(2);
    expect(effectsOf(change, 'record')).toEqual([]);
    const again = when(change.state, fails('WorkerLost'));
    expect(effectOf(again, 'callModel').input.outputs).toEqual(effectOf(change, 'callModel').input.outputs);
  });

  test('does not keep a turn going: when the answer comes first, it is next', () => {
    const change = when(after(steered(), receives('m4', { mode: 'queue' }), recorded), answers());
    const { input } = effectOf(change, 'callModel');
    expect(input).toMatchObject({ turnId: `${CHAIN}-2`, callId: `${CHAIN}-2.1`, head: `${CHAIN}-1.1.out` });
    expect(messageIds(input.append)).toEqual(['m2']);
    expect(queuedIds(change.state)).toEqual(['m3', 'm4']);
    expect(fateOf(change.state, 'm2')).toBe('pending');
    expect(effectsOf(change, 'record')).toEqual([]);
  });

  test('that gets its own turn is told of that turn, and of nothing that it knows already', () => {
    const change = when(steered(), answers());
    expect(toldBy(change)).toMatchObject([{ kind: 'TurnStarted', source: { key: 'm2' } }]);
  });

  test('ends as steered, with the opener answered', () => {
    const { state } = when(joined(), answers());
    expect(['m1', 'm2', 'm3'].map((id) => fateOf(state, id))).toEqual(['answered', 'steered', 'steered']);
  });

  test('ends as steered in a turn that fails, too, and that is recorded', () => {
    const change = when(joined(), fails('Defect'), { nowMs: NOW_MS + 5_000 });
    const turnId = `${CHAIN}-1`;
    expect(effectOf(change, 'record').input).toMatchObject({
      ...{ status: 'idle', queued: 0 },
      items: [
        { itemId: 'm1', fate: 'answered', turnId },
        { itemId: 'm2', fate: 'steered', turnId },
        { itemId: 'm3', fate: 'steered', turnId },
      ],
      outcomes: [
        {
          ...{ turnId, outcome: 'failed', reason: 'Defect happened', source: { kind: 'message', key: 'm1' } },
          ...{ silent: false, usage: USAGE, startedAtMs: NOW_MS, endedAtMs: NOW_MS + 5_000 },
        },
      ],
    });
    expect(toldBy(change)).toMatchObject([{ messageId: 'm2' }, { messageId: 'm3' }]);
  });

  test('that a failed turn had not taken in goes back to the head of the queue, and gets its own turn', () => {
    const state = after(steered(), receives('m4', { mode: 'queue' }), fails('Defect'));
    expect(turnOf(state).source.key).toBe('m2');
    expect(queuedIds(state)).toEqual(['m3', 'm4']);
    expect(fateOf(state, 'm1')).toBe('answered');
    expect(fateOf(state, 'm3')).toBe('pending');
  });

  test('that comes during the last call that the turn may make gets its own turn', () => {
    const last = aSessionWith({ stepsPerTurn: 1 }, receives('m1'), asksFor('look'), receives('m2'), recorded);
    const change = when(last, toolEnds(0));
    expect(change.state.lastOutcome).toMatchObject({ turnId: `${CHAIN}-1`, outcome: 'failed' });
    expect(turnOf(change.state).source.key).toBe('m2');
    expect(dispositionsOf(change, 'm2')).toEqual([]);
  });

  test('that the store knows as a repeat is none of the turn’s, and ends as its first did', () => {
    const first = { itemId: 'm2', fate: 'withdrawn' as const, turnId: null, contentHash: 'older' };
    const { state } = when(joined(), answers({ repeats: [first] }));
    expect(['m1', 'm2', 'm3'].map((id) => fateOf(state, id))).toEqual(['answered', 'withdrawn', 'steered']);
  });

  test('keeps its fate when the opener turns out to be the repeat', () => {
    const first = { itemId: 'm1', fate: 'answered' as const, turnId: 'older-1', contentHash: 'older' };
    const { state } = when(joined(), answers({ repeats: [first] }));
    expect(['m1', 'm2', 'm3'].map((id) => fateOf(state, id))).toEqual(['answered', 'steered', 'steered']);
    expect(state.seen[0]).toMatchObject({ turnId: 'older-1' });
  });
});

describe('what a turn that failed had not got answered', () => {
  test('is handed to the next call, claimed by the turn that took it', () => {
    const state = aSession(receives('m1'), fails('Defect'), recorded);
    expect(state.carried).toMatchObject([{ kind: 'message', messageId: 'm1', turnId: `${CHAIN}-1` }]);
    const next = after(state, receives('m2'));
    expect(next.carried).toEqual([]);
    expect(callOf(next).append).toMatchObject([{ messageId: 'm1', turnId: `${CHAIN}-1` }, { messageId: 'm2' }]);
    expect(callOf(next).append[1]).not.toHaveProperty('turnId');
  });

  test('stays claimed by the first turn when the next one fails too', () => {
    const state = aSession(receives('m1'), fails('Defect'), receives('m2'), fails('Unknown', { attempt: null }));
    expect(state.carried).toMatchObject([
      { messageId: 'm1', turnId: `${CHAIN}-1` },
      { messageId: 'm2', turnId: `${CHAIN}-2` },
    ]);
  });

  test('holds tool results too', () => {
    const state = after(running(), asksFor('look'), toolEnds(0), fails('Defect'));
    expect(state.carried).toMatchObject([{ kind: 'toolResult', name: 'look', lost: null }]);
  });

  test('is handed on even when the turn used up its calls before asking', () => {
    const state = aSessionWith({ stepsPerTurn: 1 }, receives('m1'), asksFor('look'), receives('m2'), toolEnds(0));
    expect(state.lastOutcome).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('1 model calls') as string,
    });
    expect(callOf(state).append).toMatchObject([{ kind: 'toolResult' }, { messageId: 'm2' }]);
  });

  test.each([
    ['the provider found fault with it', fails('ModelRejected', { inputAtFault: true })],
    ['it did not fit the model', fails('ContextOverflow')],
  ])('is left out of the conversation when %s', (_, failure) => {
    const change = when(after(running(), receives('m2'), recorded), failure);
    expect(messageIds(effectOf(change, 'callModel').input.append)).toEqual(['m2']);
    expect(toldBy(change).map((output) => output.kind)).toEqual(['MessageReceived', 'TurnStarted', 'TurnStarted']);
    expect(fateOf(change.state, 'm1')).toBe('answered');
  });

  test('is kept when the provider rejected something else', () => {
    const state = after(running(), fails('ModelRejected'));
    expect(messageIds(state.carried)).toEqual(['m1']);
  });

  test('loses its oldest messages, with a notice, when all of it would leave no room', () => {
    const text = 'x'.repeat(LIMITS.inlineTextBytes);
    let state = aSession();
    let change = when(state, receives('m0', { text }));
    for (let n = 1; n <= 16; n++) {
      change = when(after(change.state, recorded), fails('Defect'));
      state = change.state;
      change = when(state, receives(`m${n}`, { text }));
    }
    expect(messageIds(state.carried)).toEqual(Array.from({ length: 15 }, (_, n) => `m${n + 1}`));
    expect(noticesOf(when(state, receives('m99')))).toEqual([]);
    expect(state.recording?.outputs).toContainEqual(expect.objectContaining({ code: 'input_not_supported' }));
  });
});

describe('what a call was to tell', () => {
  test('is recorded when the call failed, because its try may never have begun', () => {
    const change = when(running(), fails('Unknown', { attempt: null }));
    expect(effectOf(change, 'record').input.outputs).toEqual(callOf(running()).outputs);
  });

  test('is not told again when the call was answered', () => {
    expect(toldBy(when(running(), answers()))).toEqual([]);
  });

  test('stays with the call when it is dispatched again', () => {
    const change = when(running(), fails('WorkerLost'));
    expect(effectOf(change, 'callModel').input.outputs).toEqual(callOf(running()).outputs);
    expect(effectsOf(change, 'record')).toEqual([]);
  });
});

describe('a turn whose opener is a repeat', () => {
  test('never was: nothing is told of it, and steered messages get their own turns', () => {
    const change = when(after(running(), receives('m2'), recorded), isRepeat());
    expect(turnOf(change.state)).toMatchObject({ id: `${CHAIN}-2`, source: { key: 'm2' } });
    expect(toldBy(change).filter((output) => output.kind === 'TurnStarted')).toMatchObject([{ turnId: `${CHAIN}-2` }]);
    expect(dispositionsOf(change, 'm1')).toEqual([]);
    expect(effectsOf(change, 'record')).toEqual([]);
    expect(change.state).toMatchObject({ lastOutcome: null, carried: [] });
  });

  test('hands on what it was given by others, inputs and outputs', () => {
    const state = aSession(receives('m1'), fails('Defect'), receives('bad', { text: '' }), receives('m2'));
    expect(callOf(state).outputs.map((output) => output.kind)).toContain('Notice');
    const change = when(after(state, recorded), isRepeat());
    expect(messageIds(change.state.carried)).toEqual(['m1']);
    expect(toldBy(change).map((output) => output.kind)).toEqual(['Notice']);
  });
});

test('a turn that may make no call at all fails, one after the other, and the session stays free', () => {
  const state = aSessionWith({ stepsPerTurn: 0 }, receives('m1'), receives('m2'));
  expect(placeOf(state)).toBe('idle');
  expect(state).toMatchObject({ turnCount: 2, lastOutcome: { outcome: 'failed' } });
});

test('a reason is cut to the length that the journal takes', () => {
  const state = after(running(), fails('Defect', { message: 'x'.repeat(50_000) }));
  expect(state.lastOutcome?.reason).toHaveLength(LIMITS.reasonChars);
});
