import { DEFAULT_PROFILE } from '../../../protocol/liveness.js';
import { answerDrain, answerUndrain } from '../../../workflows/session/drain.js';
import { upgradeState, type StoredState } from '../../../workflows/session/state.js';
import { toView } from '../../../workflows/session/view.js';
import {
  answers,
  asksFor,
  aSession,
  after,
  callOf,
  CHAIN,
  dispositionsOf,
  drains,
  effectOf,
  effectsOf,
  fails,
  noticesOf,
  opened,
  placeOf,
  queuedIds,
  receives,
  recorded,
  resumes,
  rolledOver,
  toolEnds,
  turnOf,
  undrains,
  when,
} from '../../support/session-builders.js';

const T1 = `${CHAIN}-1`;
const running = aSession(receives('m1'));

describe('a session that drains', () => {
  test('opens no turn: messages are accepted and told that they are queued', () => {
    const change = when(after(aSession(drains), recorded), receives('m1'));
    expect(placeOf(change.state)).toBe('idle');
    expect(dispositionsOf(change, 'm1')).toEqual([{ kind: 'queued', position: 1 }]);
    expect(queuedIds(after(change.state, receives('m2')))).toEqual(['m1', 'm2']);
  });

  test('lets the running turn go on to its end, and nothing joins it any more', () => {
    const state = after(running, asksFor('look'), drains, recorded);
    const change = when(state, receives('m2'));
    expect(dispositionsOf(change, 'm2')).toEqual([{ kind: 'queued', position: 1 }]);
    const next = when(change.state, toolEnds(0));
    expect(effectOf(next, 'callModel').input.append).toEqual([expect.objectContaining({ kind: 'toolResult' })]);
    expect(after(next.state, answers())).toMatchObject({ turn: null, lastOutcome: { outcome: 'completed' } });
  });

  test('lets a steer join that was promised to before', () => {
    const state = after(running, asksFor('look'), receives('m2'), drains);
    const change = when(state, toolEnds(0));
    expect(dispositionsOf(change, 'm2')).toEqual([{ kind: 'steered', turnId: T1 }]);
  });

  test.each(['StaleTry', 'WorkerLost', 'WorkerDraining', 'SessionDraining', 'ModelBusy', 'StoreUnavailable'] as const)(
    'does not ask again after %s: the turn is interrupted, and says why',
    (type) => {
      const { state } = when(after(running, drains), fails(type, { message: 'what happened' }));
      expect(state).toMatchObject({ turn: null, lastOutcome: { turnId: T1, outcome: 'interrupted' } });
      expect(state.lastOutcome?.reason).toMatch(/the session drains.*what happened/);
    },
  );

  test('takes over a changed profile: nothing had been asked', () => {
    const change = when(after(running, drains), fails('ProfileChanged', { profile: DEFAULT_PROFILE }));
    expect(effectOf(change, 'callModel').input).toMatchObject({ callId: `${T1}.1`, dispatch: 2 });
  });

  test.each([
    ['ModelBusy', /the provider was busy/],
    ['StoreUnavailable', /the session store was away/],
  ] as const)('ends a turn that waits after %s at once', (type, why) => {
    const waiting = after(running, fails(type));
    expect(answerDrain(waiting)).toEqual({ kind: 'draining', turnId: null, queued: 0 });
    const { state } = when(waiting, drains);
    expect(state).toMatchObject({ turn: null, timerAtMs: null, lastOutcome: { outcome: 'interrupted' } });
    expect(state.lastOutcome?.reason).toMatch(why);
  });

  test('stays so over continue-as-new, and shows it', () => {
    const state = rolledOver(after(aSession(drains), recorded, receives('m1'), recorded));
    expect(queuedIds(state)).toEqual(['m1']);
    expect(toView(state, 1)).toMatchObject({ draining: true, status: 'idle', queue: [{ id: 'm1' }] });
  });

  test('wakes from a suspension without taking up work', () => {
    const state = after(running, fails('AgentUnavailable'), drains, resumes());
    expect(state).toMatchObject({ suspended: null, turn: null });
    expect(queuedIds(state)).toEqual(['m1']);
  });

  test('goes on with its queue once it is undrained', () => {
    const state = after(aSession(drains), receives('m1'), receives('m2'));
    expect(answerUndrain(state)).toEqual({ kind: 'undrained', next: 'm1' });
    const change = when(state, undrains);
    expect(turnOf(change.state).source.key).toBe('m1');
    expect(queuedIds(change.state)).toEqual(['m2']);
  });
});

describe('the answers', () => {
  test('say what runs and how much waits, and whether anything changed', () => {
    expect(answerDrain(running)).toEqual({ kind: 'draining', turnId: T1, queued: 0 });
    const draining = after(running, drains, receives('m2'));
    expect(answerDrain(draining)).toEqual({ kind: 'already_draining', turnId: T1, queued: 1 });
    expect(answerUndrain(aSession())).toEqual({ kind: 'not_draining', next: null });
  });

  test('a second drain or undrain changes nothing', () => {
    const draining = after(aSession(drains), recorded);
    expect(when(draining, drains)).toEqual({ state: draining, effects: [] });
    const idle = aSession();
    expect(when(idle, undrains)).toEqual({ state: idle, effects: [] });
  });
});

describe('the store', () => {
  test('is told of every change once, with its number, and clients by a notice', () => {
    const drained = when(aSession(), drains);
    expect(effectOf(drained, 'record').input.drain).toEqual({ isDraining: true, change: 1 });
    expect(noticesOf(drained)).toEqual(['session_draining']);
    const undrained = when(after(drained.state, recorded), undrains);
    expect(effectOf(undrained, 'record').input.drain).toEqual({ isDraining: false, change: 2 });
    expect(noticesOf(undrained)).toEqual(['session_undrained']);
    expect(
      effectOf(when(after(undrained.state, recorded), { kind: 'signalReceived', name: 'x', args: [] }), 'record').input,
    ).not.toHaveProperty('drain');
  });

  test('is told although a call took the notice', () => {
    const state = after(running, asksFor('look'), receives('m2'), drains);
    expect(state.drainChanges).toEqual({ made: 1, told: 0 });
    const next = after(state, toolEnds(0));
    expect(callOf(next).outputs).toContainEqual(expect.objectContaining({ code: 'session_draining' }));
    expect(effectOf(when(next, recorded), 'record').input).toMatchObject({ outputs: [], drain: { isDraining: true } });
  });

  test('is told again under the chain that a resume from it begins', () => {
    const state = after(running, fails('AgentUnavailable'), drains, recorded, recorded);
    const change = when(state, resumes(true));
    expect(effectOf(change, 'record').input).toMatchObject({
      chain: `${CHAIN}r`,
      drain: { isDraining: true, change: 1 },
    });
    const healthy = after(running, fails('AgentUnavailable'), recorded, recorded);
    expect(effectsOf(when(healthy, resumes(true)), 'record').map(({ input }) => input.drain)).toEqual([undefined]);
  });

  test('that has not heard of an undrain yet refuses a try, which goes out again', () => {
    const change = when(running, fails('SessionDraining', { attempt: 2 }));
    expect(effectOf(change, 'callModel').input).toMatchObject({ dispatch: 2 });
    expect(turnOf(change.state).used).toMatchObject({ redispatches: 1, resumes: 1 });
  });
});

test('a state that was written before sessions could drain is one that does not', () => {
  const { draining: _, drainChanges: __, ...stored } = running;
  const upgraded = upgradeState(JSON.parse(JSON.stringify(stored)) as StoredState);
  expect(upgraded).toEqual(running);
  expect(after(upgraded, opened)).toEqual(running);
});
