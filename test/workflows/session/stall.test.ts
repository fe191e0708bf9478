import type { Progress } from '../../../protocol/liveness.js';
import type { CallFailure } from '../../../workflows/session/events.js';
import {
  aSession,
  aSessionWith,
  after,
  asksFor,
  callOf,
  effectOf,
  fails,
  NOW_MS,
  opened,
  receives,
  recorded,
  timerFires,
  toolEnds,
  when,
} from '../../support/session-builders.js';

const running = () => aSession(receives('m1'));
const LATER = { nowMs: NOW_MS + 75_000 };

function progress(over: Partial<Progress> = {}): Progress {
  const seen = { phase: 'streaming' as const, charsReceived: 12, firstTokenMs: 300, budgetMs: 60_000, atMs: NOW_MS };
  return { try: { dispatch: 1, attempt: 3 }, ...seen, ...over };
}

/** What is recorded of a turn whose call in flight falls silent for good. */
function outcomeOf(state = running(), failure: Partial<CallFailure> = {}) {
  const change = when(state, fails('HeartbeatTimeout', { attempt: null, ...failure }), LATER);
  return effectOf(change, 'record').input.outcomes[0]!;
}

test('silence that outlives the resumes ends the turn as timeout, with phase, budget, tries and the time it took', () => {
  const { outcome, reason, stall } = outcomeOf(running(), {
    progress: progress({ phase: 'prefill', budgetMs: 90_000 }),
  });
  expect(outcome).toBe('timeout');
  expect(stall).toEqual({ phase: 'prefill', budgetMs: 90_000, tries: 3, elapsedMs: 75_000 });
  expect(reason).toBe('the model was silent for 90 s in phase "prefill", in the last of 3 tries; the call took 75 s');
});

test('without resumes the first try is the only one', () => {
  const state = aSessionWith({ resumesPerTurn: 0 }, receives('m1'));
  const { reason, stall } = outcomeOf(state, { progress: progress({ try: { dispatch: 1, attempt: 1 } }) });
  expect(stall).toMatchObject({ tries: 1 });
  expect(reason).toContain('in its only try');
});

test.each([
  ['no heartbeat at all', null],
  ['the heartbeat of an earlier attempt', progress({ try: { dispatch: 1, attempt: 2 } })],
  ['the heartbeat of an earlier dispatch', progress({ try: { dispatch: 0, attempt: 3 } })],
  ['the heartbeat of an older worker', { phase: 'streaming', atMs: NOW_MS }],
] satisfies [string, Partial<Progress> | null][])('%s says nothing of the last try', (_, told) => {
  const { reason, stall } = outcomeOf(running(), { progress: told });
  expect(stall).toEqual({ phase: null, budgetMs: 60_000, tries: 3, elapsedMs: 75_000 });
  expect(reason).toContain('before its first sign');
});

test('tries of earlier dispatches count, refusals do not', () => {
  const state = after(
    running(),
    fails('ProfileChanged', { profile: { ...running().profile, stepsPerTurn: 9 } }),
    fails('WorkerLost', { attempt: 2 }),
    fails('ModelBusy', { attempt: 1 }),
    recorded,
    timerFires,
  );
  expect(callOf(state)).toMatchObject({ dispatch: 4, tries: 2 });
  // One resume is used, so the last dispatch had two tries.
  expect(outcomeOf(state).stall).toMatchObject({ tries: 4 });
});

test('each call counts its own tries and its own time', () => {
  const first = after(running(), fails('WorkerLost', { attempt: 2 }));
  const second = when(after(first, asksFor('look')), toolEnds(0), { nowMs: NOW_MS + 50_000 }).state;
  expect(outcomeOf(second).stall).toMatchObject({ tries: 2, elapsedMs: 25_000 });
});

test('a call of a state that an older version wrote is timed from its turn', () => {
  const state = after(running(), fails('ModelBusy'));
  const stored = JSON.parse(JSON.stringify(state), (key, value: unknown) =>
    key === 'sinceMs' || key === 'tries' ? undefined : value,
  ) as typeof state;
  expect(outcomeOf(after(stored, opened, recorded, timerFires)).stall).toMatchObject({ tries: 3, elapsedMs: 75_000 });
});
