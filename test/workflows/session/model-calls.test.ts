import type { OutcomeKind } from '../../../protocol/fates.js';
import { DEFAULT_PROFILE, profileVersion } from '../../../protocol/liveness.js';
import type { CallFailure, SessionEvent } from '../../../workflows/session/events.js';
import {
  aFailure,
  anAnswer,
  answers,
  asksFor,
  aSession,
  aSessionWith,
  after,
  askedBy,
  callOf,
  CHAIN,
  effectOf,
  fails,
  placeOf,
  receives,
  toolEnds,
  turnOf,
  when,
} from '../../support/session-builders.js';

const running = () => aSession(receives('m1'));

test('a call says everything that its activity needs', () => {
  const change = when(aSession(receives('m0'), answers()), receives('m1'));
  expect(effectOf(change, 'callModel')).toMatchObject({
    profile: DEFAULT_PROFILE,
    maximumAttempts: 3,
    input: {
      ...{
        sessionId: 'acme/s1',
        chain: CHAIN,
        agent: 'coder',
        turnId: `${CHAIN}-2`,
        callId: `${CHAIN}-2.1`,
        dispatch: 1,
      },
      ...{ head: `${CHAIN}-1.1.out`, profileVersion: profileVersion(DEFAULT_PROFILE) },
    },
  });
});

test('a try that another task was ahead of is dispatched anew, and newer than both', () => {
  const change = when(running(), fails('StaleTry'));
  expect(effectOf(change, 'callModel').input.dispatch).toBe(2);
  expect(turnOf(change.state).used.redispatches).toBe(1);
});

test.each<[CallFailure['type'], OutcomeKind]>([
  ['StreamBroken', 'failed'],
  ['ContextOverflow', 'failed'],
  ['ModelRejected', 'failed'],
  ['Defect', 'failed'],
  ['OtherTimeout', 'failed'],
  ['Unknown', 'failed'],
])('%s ends the turn as %s, with its own words as the reason', (type, outcome) => {
  const change = when(running(), fails(type, { attempt: null, message: 'what went wrong' }));
  expect(placeOf(change.state)).toBe('idle');
  expect(effectOf(change, 'record').input).toMatchObject({
    outcomes: [{ outcome, reason: 'what went wrong' }],
    items: [{ itemId: 'm1', fate: 'answered' }],
  });
  expect(change.state.head).toBeNull();
});

describe('resumes', () => {
  test('that one call used are missing from the retries of the next', () => {
    const change = when(after(running(), asksFor('look')), toolEnds(0));
    expect(effectOf(change, 'callModel').maximumAttempts).toBe(3);
    const costly = when(after(running(), fails('WorkerLost', { attempt: 2 }), asksFor('look')), toolEnds(0));
    expect(effectOf(costly, 'callModel').maximumAttempts).toBe(2);
  });

  test('are all used when nobody can say how many were', () => {
    const change = when(running(), fails('WorkerLost', { attempt: null }));
    expect(effectOf(change, 'callModel').maximumAttempts).toBe(1);
    expect(turnOf(change.state).used.resumes).toBe(2);
  });

  test('that were used stay used when a profile allows fewer', () => {
    const profile = { ...DEFAULT_PROFILE, resumesPerTurn: 1 };
    const state = after(running(), fails('ProfileChanged', { profile, attempt: 3 }));
    expect(turnOf(state).used.resumes).toBe(2);
    expect(turnOf(after(state, fails('WorkerLost', { attempt: null }))).used.resumes).toBe(2);
  });
});

describe.each(['WorkerLost', 'WorkerDraining'] as const)('%s', (type) => {
  test('dispatches the same call again at once and costs a redispatch only', () => {
    const state = running();
    const change = when(state, fails(type));
    const { input } = effectOf(change, 'callModel');
    expect(input).toMatchObject({ ...askedBy(state), dispatch: 2 });
    expect(turnOf(change.state).used).toMatchObject({ redispatches: 1, resumes: 0 });
  });

  test('ends the turn as interrupted when its redispatches are used up', () => {
    const state = aSessionWith({ redispatchesPerTurn: 2 }, receives('m1'), fails(type), fails(type));
    expect(turnOf(state).used.redispatches).toBe(2);
    const change = when(state, fails(type));
    expect(effectOf(change, 'record').input.outcomes).toMatchObject([
      { outcome: 'interrupted', reason: expect.stringContaining('3 times') as string },
    ]);
  });
});

describe('a worker with another profile', () => {
  const profile = { ...DEFAULT_PROFILE, stepsPerTurn: 7 };

  test('is believed: the call goes out again under its profile', () => {
    const change = when(running(), fails('ProfileChanged', { profile }));
    expect(change.state.profile).toEqual(profile);
    expect(effectOf(change, 'callModel')).toMatchObject({
      profile,
      input: { dispatch: 2, profileVersion: profileVersion(profile) },
    });
  });

  test('ends the turn when it does not say which', () => {
    expect(after(running(), fails('ProfileChanged')).lastOutcome).toMatchObject({ outcome: 'failed' });
  });

  test('ends the turn when workers go on disagreeing, and the count starts anew after an answer', () => {
    const disagree = (times: number) =>
      Array.from({ length: times }, (_, n) =>
        fails('ProfileChanged', { profile: { ...DEFAULT_PROFILE, stepsPerTurn: 10 + (n % 2) } }),
      );
    const state = after(running(), ...disagree(5));
    expect(callOf(state).dispatch).toBe(6);
    expect(after(state, asksFor('look'), toolEnds(0), ...disagree(5)).turn).not.toBeNull();
    expect(after(state, ...disagree(1)).lastOutcome).toMatchObject({
      outcome: 'failed',
      reason: expect.stringContaining('disagree') as string,
    });
  });
});

test('a turn that used its steps fails with what it did so far', () => {
  const state = aSessionWith({ stepsPerTurn: 2 }, receives('m1'), asksFor('look'), toolEnds(0), asksFor('look'));
  expect(turnOf(state).callCount).toBe(2);
  const change = when(state, toolEnds(0));
  expect(effectOf(change, 'record').input.outcomes).toMatchObject([
    { outcome: 'failed', reason: expect.stringContaining('2 model calls') as string },
  ]);
});

describe('a report that comes late', () => {
  const { callId } = callOf(running());
  const finished: SessionEvent = { kind: 'modelFinished', callId, dispatch: 1, result: anAnswer(callId) };
  const failed: SessionEvent = { kind: 'modelFailed', callId, dispatch: 1, failure: aFailure('Defect') };

  test.each([
    ['of an older dispatch', after(running(), fails('WorkerLost'))],
    ['of a call that waits', after(running(), fails('ModelBusy'))],
    ['of an ended turn', after(running(), answers())],
    ['of another call of the turn', after(running(), asksFor('look'), toolEnds(0))],
    ['while tools run', after(running(), asksFor('look'))],
  ])('%s changes nothing', (_, state) => {
    expect(callId).toBe(`${CHAIN}-1.1`);
    expect(when(state, finished)).toEqual({ state, effects: [] });
    expect(when(state, failed)).toEqual({ state, effects: [] });
  });
});

test('what no type allows is a fault, not a silence', () => {
  expect(() => when(running(), fails('Sunspots' as CallFailure['type']))).toThrow();
  expect(() => when(running(), { kind: 'eclipse' } as unknown as SessionEvent)).toThrow();
});
