import {
  aSession,
  aSessionWith,
  after,
  answers,
  asksFor,
  askedBy,
  effectOf,
  effectsOf,
  fails,
  noticesOf,
  NOW_MS,
  placeOf,
  receives,
  recorded,
  timerFires,
  toolEnds,
  turnOf,
  when,
} from '../../support/session-builders.js';
import type { SessionState } from '../../../workflows/session/state.js';

const running = () => aSession(receives('m1'));

function waitMs(state: SessionState): number {
  const { step } = turnOf(state);
  if (step.kind !== 'waiting') throw new Error(`the turn does not wait, it is at ${step.kind}`);
  return step.untilMs - NOW_MS;
}

describe('a busy provider', () => {
  test('is waited for with the timer armed, which is told and costs no resume', () => {
    const change = when(running(), fails('ModelBusy', { retryAfterMs: 20_000 }));
    expect(placeOf(change.state)).toBe('waiting');
    expect(waitMs(change.state)).toBeGreaterThanOrEqual(20_000);
    expect(waitMs(change.state)).toBeLessThanOrEqual(24_000);
    expect(effectOf(change, 'armTimer').atMs).toBe(NOW_MS + waitMs(change.state));
    expect(noticesOf(change)).toEqual(['model_busy']);
    expect(turnOf(change.state).used).toMatchObject({ resumes: 0, providerWaitMs: waitMs(change.state) });
  });

  test('is asked again when the time is over, by the next dispatch of the same call', () => {
    const state = after(running(), fails('ModelBusy'));
    const change = when(state, timerFires);
    expect(effectOf(change, 'callModel').input).toMatchObject({ ...askedBy(running()), dispatch: 2 });
    expect(effectsOf(change, 'armTimer')).toEqual([]);
    expect(change.state.timerAtMs).toBeNull();
  });

  test('is not asked before: a timer that fires early is armed again', () => {
    const state = after(running(), fails('ModelBusy', { retryAfterMs: 20_000 }));
    const change = when(state, timerFires, { nowMs: NOW_MS + 1 });
    expect(change.effects).toEqual([{ kind: 'armTimer', atMs: state.timerAtMs }]);
    expect(change.state).toEqual(state);
  });

  test('that names no time is waited for longer each time, up to a minute', () => {
    const waits = [];
    let state = aSessionWith({ providerWaitPerTurnMs: 10 * 60_000 }, receives('m1'));
    for (let n = 0; n < 9; n++) {
      state = after(state, fails('ModelBusy'));
      waits.push(waitMs({ ...state, turn: { ...turnOf(state) } }));
      state = after(state, timerFires);
    }
    const floors = [1, 2, 4, 8, 16, 32, 60, 60, 60];
    waits.forEach((wait, n) => {
      expect(wait).toBeGreaterThanOrEqual(floors[n]! * 1_000);
      expect(wait).toBeLessThanOrEqual(floors[n]! * 1_200);
    });
  });

  test.each([
    [0, 1_000],
    [10, 1_000],
    [3 * 60 * 60_000, 60 * 60_000],
  ])('that names %i ms is waited for %i ms', (retryAfterMs, expectedMs) => {
    const state = aSessionWith(
      { providerWaitPerTurnMs: 5 * 60 * 60_000 },
      receives('m1'),
      fails('ModelBusy', { retryAfterMs }),
    );
    expect(waitMs(state)).toBeGreaterThanOrEqual(expectedMs);
    expect(waitMs(state)).toBeLessThanOrEqual(expectedMs * 1.2);
  });

  test('ends the turn when its waits are used up, and says so', () => {
    const state = aSessionWith(
      { providerWaitPerTurnMs: 30_000 },
      receives('m1'),
      fails('ModelBusy', { retryAfterMs: 20_000 }),
    );
    const change = when(
      after(state, recorded, timerFires),
      fails('ModelBusy', { retryAfterMs: 20_000, message: 'overloaded' }),
    );
    expect(effectOf(change, 'record').input.outcomes).toMatchObject([
      { outcome: 'failed', reason: expect.stringMatching(/overloaded .*30 s/) as string },
    ]);
  });

  test('does not hold up what a person sends', () => {
    const state = after(running(), fails('ModelBusy'), recorded, receives('m2'), receives('m3', { mode: 'queue' }));
    expect(placeOf(state)).toBe('waiting');
    expect(turnOf(state).steers).toHaveLength(1);
  });
});

describe('a store that is away', () => {
  test('is waited for as long as it takes, at most 30 s at a time, told once and charged to nothing', () => {
    let state = running();
    const waits = [];
    const notices = [];
    for (let n = 0; n < 50; n++) {
      const change = when(state, fails('StoreUnavailable'));
      notices.push(...noticesOf(change));
      waits.push(waitMs(change.state));
      state = after(change.state, recorded, timerFires);
    }
    expect(waits.slice(0, 7)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(waits.at(-1)).toBe(30_000);
    expect(notices).toEqual(['store_unavailable']);
    expect(turnOf(state).used).toMatchObject({ resumes: 0, redispatches: 0, providerWaitMs: 0 });
    expect(after(state, answers()).lastOutcome).toMatchObject({ outcome: 'completed' });
  });

  test('is told of again, and asked soon again, when it was there in between', () => {
    const state = after(running(), fails('StoreUnavailable'), recorded, timerFires, asksFor('look'), toolEnds(0));
    const change = when(state, fails('StoreUnavailable'));
    expect(noticesOf(change)).toEqual(['store_unavailable']);
    expect(waitMs(change.state)).toBe(1_000);
  });
});

test('a timer that fires when nothing waits changes nothing', () => {
  for (const state of [aSession(), running(), after(running(), asksFor('look'))]) {
    expect(when(state, timerFires)).toEqual({ state, effects: [] });
  }
});
