import type { OutcomeKind } from '../../../protocol/fates.js';
import { LIMITS } from '../../../protocol/limits.js';
import {
  answers,
  asksFor,
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
  placeOf,
  queuedIds,
  receives,
  recorded,
  toldBy,
  toolEnds,
  turnOf,
  USAGE,
  when,
} from '../../support/session-builders.js';

const running = () => aSession(receives('m1'));

describe('an answer', () => {
  test('ends the turn: its outcome and its message’s fate are recorded, and the session is free', () => {
    const change = when(running(), answers(), { nowMs: NOW_MS + 5_000 });
    const turnId = `${CHAIN}-1`;
    expect(effectOf(change, 'record').input).toMatchObject({
      status: 'idle',
      queued: 0,
      outputs: [],
      items: [{ itemId: 'm1', fate: 'answered', turnId }],
      outcomes: [
        {
          ...{ turnId, outcome: 'completed', reason: null, source: { kind: 'message', key: 'm1' }, silent: false },
          ...{ usage: USAGE, startedAtMs: NOW_MS, endedAtMs: NOW_MS + 5_000 },
        },
      ],
    });
    expect(change.state).toMatchObject({
      ...{ turn: null, head: `${turnId}.1.out`, model: 'test-model', usage: USAGE, carried: [] },
      lastOutcome: { turnId, outcome: 'completed', reason: null },
    });
  });

  test.each<[string, Parameters<typeof answers>[0], OutcomeKind, string | null]>([
    ['that is whole completes it', { finish: 'stop' }, 'completed', null],
    ['that says nothing by its own choice completes it', { finish: 'stop', hasText: false }, 'completed', null],
    ['that was cut after some text completes it, and says so', { finish: 'length' }, 'completed', 'output limit'],
    ['that was cut before any text fails it', { finish: 'length', hasText: false }, 'failed', 'output limit'],
    ['that the provider’s filter stopped fails it', { finish: 'contentFilter' }, 'failed', 'content filter'],
    ['that asks for tools but names none completes it', { finish: 'toolCalls', toolCalls: [] }, 'completed', null],
  ])('%s', (_, answer, outcome, reason) => {
    const { state } = when(running(), answers(answer));
    expect(placeOf(state)).toBe('idle');
    expect(state.lastOutcome).toMatchObject({
      outcome,
      reason: reason === null ? null : (expect.stringContaining(reason) as string),
    });
  });

  test('that the server had to try again for costs the turn its resumes', () => {
    const state = after(running(), receives('m2'), answers({ attempt: 3 }));
    expect(turnOf(state).used.resumes).toBe(2);
  });

  test('adds to the usage of the turn and of the session', () => {
    const state = after(running(), asksFor('look'), toolEnds(0), answers());
    expect(state.usage).toMatchObject({ uncachedInputTokens: 20, outputTokens: 6, cacheWriteTokens: null });
  });
});

describe('a steered message', () => {
  const steered = () => after(running(), receives('m2'), receives('m3'), recorded, recorded);

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

  test('makes the turn go on after its final answer', () => {
    const change = when(steered(), answers());
    const { input } = effectOf(change, 'callModel');
    expect(input).toMatchObject({ turnId: `${CHAIN}-1`, callId: `${CHAIN}-1.2`, head: `${CHAIN}-1.1.out` });
    expect(messageIds(input.append)).toEqual(['m2', 'm3']);
    expect(effectsOf(change, 'record')).toEqual([]);
  });

  test('ends as steered, with the opener answered', () => {
    const change = when(after(steered(), answers()), answers());
    expect(effectOf(change, 'record').input.items).toMatchObject([
      { itemId: 'm1', fate: 'answered' },
      { itemId: 'm2', fate: 'steered' },
      { itemId: 'm3', fate: 'steered' },
    ]);
  });

  test('that a failed turn had not taken in goes back to the head of the queue, and gets its own turn', () => {
    const state = after(steered(), receives('m4', { mode: 'queue' }), fails('Defect'));
    expect(turnOf(state).source.key).toBe('m2');
    expect(queuedIds(state)).toEqual(['m3', 'm4']);
    expect(fateOf(state, 'm1')).toBe('answered');
    expect(fateOf(state, 'm3')).toBe('pending');
  });

  test('that comes during the last call that the turn may make gets its own turn', () => {
    const state = aSessionWith({ stepsPerTurn: 1 }, receives('m1'), receives('m2'), answers());
    expect(state.lastOutcome).toMatchObject({ turnId: `${CHAIN}-1`, outcome: 'completed' });
    expect(turnOf(state).source.key).toBe('m2');
  });

  test('that the store knows as a repeat is none of the turn’s, and ends as its first did', () => {
    const first = { itemId: 'm2', fate: 'withdrawn' as const, turnId: null, contentHash: 'older' };
    const state = after(steered(), answers());
    const change = when(state, answers({ repeats: [first] }));
    expect(effectOf(change, 'record').input.items.map((item) => item.itemId)).toEqual(['m1', 'm3']);
    expect(fateOf(change.state, 'm2')).toBe('withdrawn');
  });

  test('keeps its fate when the opener turns out to be the repeat', () => {
    const first = { itemId: 'm1', fate: 'answered' as const, turnId: 'older-1', contentHash: 'older' };
    const change = when(after(steered(), answers()), answers({ repeats: [first] }));
    expect(effectOf(change, 'record').input.items).toMatchObject([
      { itemId: 'm2', fate: 'steered' },
      { itemId: 'm3', fate: 'steered' },
    ]);
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
