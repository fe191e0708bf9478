import { toView } from '../../../workflows/session/view.js';
import {
  answers,
  asksFor,
  aSession,
  after,
  CHAIN,
  fails,
  NOW_MS,
  receives,
  recorded,
  toolEnds,
  toolStarves,
  when,
} from '../../support/session-builders.js';

const running = () => aSession(receives('m1'));

test('an idle session shows its totals and its last outcome', () => {
  expect(toView(aSession(receives('m1'), answers()), 42)).toMatchObject({
    ...{ sessionId: 'acme/s1', agent: 'coder', status: 'idle', suspended: null, turn: null, queue: [], turns: 1 },
    ...{ head: `${CHAIN}-1.1.out`, model: 'test-model', unrecorded: 0, historyEvents: 42 },
    lastOutcome: { turnId: `${CHAIN}-1`, outcome: 'completed', reason: null },
  });
});

test('outcomes that the session has to record count as unrecorded until the store has acknowledged them', () => {
  const state = aSession(receives('m1'), fails('Defect'), receives('m2'), fails('Defect'));
  expect(toView(state, 1).unrecorded).toBe(2);
  expect(toView(after(state, recorded, recorded), 1).unrecorded).toBe(0);
});

test('a running session shows its items, its queue, and its budgets', () => {
  const state = after(
    running(),
    fails('WorkerLost', { attempt: 2 }),
    receives('m2'),
    receives('m3', { mode: 'queue' }),
  );
  expect(toView(state, 1)).toMatchObject({
    status: 'running',
    queue: [{ id: 'm3', kind: 'message' }],
    turn: {
      ...{ turnId: `${CHAIN}-1`, source: { kind: 'message', key: 'm1' }, startedAtMs: NOW_MS, items: ['m1', 'm2'] },
      why: 'message m1',
      budgets: {
        resumes: { used: 1, limit: 2 },
        steps: { used: 1, limit: 200 },
        redispatches: { used: 1, limit: 20 },
        providerWaitMs: { used: 0, limit: 900_000 },
        capacityWaitMs: { used: 0, limit: 1_800_000 },
      },
    },
  });
});

test.each([
  ['a call', running(), `model call ${CHAIN}-1.1, dispatch 1`],
  [
    'a wait',
    after(running(), fails('StoreUnavailable')),
    'waiting for the session store until 2026-01-01T00:00:01.000Z',
  ],
  [
    'a call that no worker took',
    after(running(), fails('ScheduleToStartTimeout')),
    `model call ${CHAIN}-1.1, dispatch 2 (waiting for capacity: no worker took the dispatch before)`,
  ],
  [
    'a tool that no worker took',
    after(running(), asksFor('look', 'send'), toolStarves(1)),
    'tools: look, send (waiting for capacity: no worker took the dispatch before)',
  ],
  ['tools', after(running(), asksFor('look', 'send'), toolEnds(0)), 'tools: look (done), send'],
  [
    'the end of a run',
    when(after(running(), asksFor('look')), toolEnds(0), { rollOverDue: true }).state,
    'about to call the model',
  ],
])('%s is shown as a step', (_, state, step) => {
  expect(toView(state, 1).turn?.step).toBe(step);
});

test('a suspended session says why', () => {
  const view = toView(after(running(), fails('AgentUnavailable', { message: 'start its worker' })), 1);
  expect(view).toMatchObject({
    status: 'suspended',
    suspended: { reason: 'agent_unavailable', message: 'start its worker' },
    queue: [{ id: 'm1' }],
  });
});

describe('the last progress', () => {
  const LATER = { nowMs: NOW_MS + 5_000 };
  const progressOf = (state: ReturnType<typeof running>) => toView(state, 1).turn?.lastProgress;

  test('is the start of the turn at first, whatever happens to its call', () => {
    const started = { kind: 'turn_started', phase: null, atMs: NOW_MS };
    expect(progressOf(running())).toEqual(started);
    expect(progressOf(when(running(), fails('WorkerLost'), LATER).state)).toEqual(started);
  });

  test('is a completed call, then a finished tool', () => {
    const asked = when(running(), asksFor('look', 'send'), LATER).state;
    expect(progressOf(asked)).toEqual({ kind: 'call_completed', phase: null, atMs: NOW_MS + 5_000 });
    const done = when(asked, toolEnds(0), { nowMs: NOW_MS + 9_000 }).state;
    expect(progressOf(done)).toEqual({ kind: 'tool_finished', phase: null, atMs: NOW_MS + 9_000 });
  });

  test('is not moved by a tool that reports twice, nor by another turn', () => {
    const asked = when(after(running(), asksFor('look', 'send')), toolEnds(0), LATER).state;
    const again = when(asked, toolEnds(0), { nowMs: NOW_MS + 9_000 }).state;
    expect(progressOf(again)).toEqual(progressOf(asked));
    const next = when(after(running(), receives('m2', { mode: 'queue' })), answers(), LATER).state;
    expect(progressOf(next)).toEqual({ kind: 'turn_started', phase: null, atMs: NOW_MS + 5_000 });
  });
});

test('the time that one attempt may take in all lies beyond any real use', () => {
  expect(toView(running(), 1).totalLimitMs).toBe(24 * 60 * 60_000);
});

test('the worst silence is that of every try, in every phase', () => {
  // Set-up, connect, prefill and finish of three tries, with what noticing takes.
  expect(toView(running(), 1).worstSilenceMs).toBe(3 * (60_000 + 60_000 + 180_000 + 60_000 + 2_500));
});
