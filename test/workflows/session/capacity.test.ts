import {
  answers,
  asksFor,
  aSession,
  aSessionWith,
  after,
  askedBy,
  callOf,
  drains,
  effectOf,
  effectsOf,
  fails,
  noticesOf,
  NOW_MS,
  placeOf,
  receives,
  recorded,
  toolEnds,
  toolStarves,
  turnOf,
  when,
} from '../../support/session-builders.js';
import type { SessionEvent } from '../../../workflows/session/events.js';
import { type SessionState, type StoredState, upgradeState } from '../../../workflows/session/state.js';

const running = () => aSession(receives('m1'));
const starves = fails('ScheduleToStartTimeout');
/** The first tool's, as it would come twice. */
const aLateReport = (state: SessionState): SessionEvent => {
  const report = toolStarves(0);
  return typeof report === 'function' ? report(state) : report;
};
const minutes = (count: number) => ({ nowMs: NOW_MS + count * 60_000 });

describe('a model call that no worker took', () => {
  test('goes out again at once, is told of, and costs nothing else', () => {
    const state = running();
    const change = when(state, starves);
    expect(effectOf(change, 'callModel').input).toMatchObject({ ...askedBy(state), dispatch: 2 });
    expect(effectOf(change, 'callModel').maximumAttempts).toBe(3);
    expect(noticesOf(change)).toEqual(['waiting_for_capacity']);
    expect(turnOf(change.state).used).toEqual({ ...turnOf(state).used, capacityWaitMs: 60_000 });
  });

  test('is told of once while it waits on, and anew when it had got on in between', () => {
    const first = when(running(), starves, minutes(1)).state;
    const second = when(first, starves, minutes(2));
    expect(noticesOf(second)).toEqual([]);
    const asked = after(second.state, asksFor('look'), toolEnds(0), recorded);
    expect(noticesOf(when(asked, starves, minutes(10)))).toEqual(['waiting_for_capacity']);
  });

  test('ends the turn when it has waited as long as it may', () => {
    const state = aSessionWith({ capacityWaitPerTurnMs: 180_000 }, receives('m1'));
    const waited = when(when(state, starves, minutes(1)).state, starves, minutes(2)).state;
    expect(turnOf(waited).used.capacityWaitMs).toBe(120_000);
    expect(when(waited, starves, minutes(3)).state.lastOutcome).toMatchObject({
      outcome: 'interrupted',
      reason: expect.stringMatching(/never ran: no worker took it .*180 s/) as string,
    });
  });

  test('that had tries before pays for those', () => {
    const change = when(running(), fails('ScheduleToStartTimeout', { attempt: 2 }));
    expect(effectOf(change, 'callModel').maximumAttempts).toBe(2);
  });

  test('does not go out again while the session drains', () => {
    const change = when(after(running(), drains), starves);
    expect(effectsOf(change, 'callModel')).toEqual([]);
    expect(change.state.lastOutcome).toMatchObject({ outcome: 'interrupted' });
  });
});

describe('a tool that no worker took', () => {
  const asked = (profile = {}) => aSessionWith(profile, receives('m1'), asksFor('look', 'send'));
  const resultsOf = (state: SessionState) => callOf(state).append;

  test('goes out again as the same call, alone', () => {
    const state = asked();
    const change = when(state, toolStarves(1));
    const { input, dispatch, maximumAttempts } = effectOf(change, 'callTool');
    expect([input.name, dispatch, maximumAttempts]).toEqual(['send', 2, 1]);
    expect(noticesOf(change)).toEqual(['waiting_for_capacity']);
    expect(placeOf(change.state)).toBe('tools');
    expect(resultsOf(after(change.state, toolEnds(0), toolEnds(1)))).toMatchObject([{ lost: null }, { lost: null }]);
  });

  test('is not dispatched by the late report of an older dispatch', () => {
    const state = asked();
    const late = aLateReport(state);
    const again = after(state, toolStarves(0));
    expect(when(again, late)).toEqual({ state: again, effects: [] });
  });

  test('waits beside another at the same cost', () => {
    const state = when(when(asked(), toolStarves(0), minutes(1)).state, toolStarves(1), minutes(1)).state;
    expect(turnOf(state).used.capacityWaitMs).toBe(60_000);
  });

  test('is a result for the model when it has waited as long as it may: it never ran', () => {
    const state = after(asked({ capacityWaitPerTurnMs: 60_000 }), toolStarves(1), toolEnds(0));
    const [look, send] = resultsOf(state);
    expect(look).not.toHaveProperty('neverRan');
    expect(send).toMatchObject({ neverRan: true, lost: expect.stringContaining('60 s') as string });
    expect(after(state, answers()).lastOutcome).toMatchObject({ outcome: 'completed' });
  });

  test('does not go out again while the session drains', () => {
    const change = when(after(asked(), drains, toolEnds(0)), toolStarves(1));
    expect(effectsOf(change, 'callTool')).toEqual([]);
    expect(resultsOf(change.state)).toMatchObject([{ lost: null }, { neverRan: true, lost: 'the session drains' }]);
  });
});

test('a waiting turn of an older version goes on, with nothing left behind and nothing waited', () => {
  const state = after(running(), fails('ModelBusy'), recorded);
  const { failedLinks: _, capacityWaitedUntilMs: __, used, ...turn } = turnOf(state);
  const { capacityWaitMs: ___, ...olderUsed } = used;
  const { scheduleToStartMs: ____, capacityWaitPerTurnMs: _____, ...profile } = state.profile;
  const stored = { ...state, profile, turn: { ...turn, used: olderUsed } } as StoredState;
  expect(upgradeState(JSON.parse(JSON.stringify(stored)) as StoredState)).toEqual(state);
});
