import {
  aSession,
  after,
  computed,
  drains,
  effectsOf,
  fails,
  type Happening,
  noticesOf,
  nudges,
  receives,
  schedules,
  when,
} from '../../support/session-builders.js';
import { answerNudge } from '../../../workflows/session/nudge.js';

const running = aSession(receives('m1'));
const suspended = after(running, fails('AgentUnavailable'));
const woken = aSession(
  schedules({ schedule: { kind: 'interval', everyMs: 60_000 }, prompt: 'look' }),
  computed(60_000),
);

describe('a nudge', () => {
  test('sets going what waits behind a suspension, says so, and finds it running the next time', () => {
    const change = when(suspended, nudges);
    expect(answerNudge(suspended, change.state)).toBe('started');
    expect(change.state).toMatchObject({ suspended: null, turn: { source: { key: 'm1' } } });
    expect(effectsOf(change, 'callModel')).toHaveLength(1);
    expect(noticesOf(change)).toContain('session_resumed');
    const again = when(change.state, nudges);
    expect(answerNudge(change.state, again.state)).toBe('already_running');
    expect(again).toEqual({ state: change.state, effects: [] });
  });

  test('starts what is due although no timer has said so', () => {
    const change = when(woken, nudges, { nowMs: woken.timerAtMs! });
    expect(answerNudge(woken, change.state)).toBe('started');
    expect(change.state.turn?.source.kind).toBe('wake');
  });

  test('of a run that rolls over is answered for the turn that the next run opens', () => {
    const change = when(suspended, nudges, { rollOverDue: true });
    expect(change.state.turn).toBeNull();
    expect(answerNudge(suspended, change.state)).toBe('started');
  });

  test.each<[what: string, ...happenings: Happening[]]>([
    ['nothing waits'],
    ['the session drains', drains, receives('m1')],
    ['the session drains and is suspended', receives('m1'), fails('AgentUnavailable'), drains],
    ['a suspended turn left nothing to do', receives('m1'), fails('WorkerLost'), fails('AgentUnavailable')],
  ])('finds no work and changes nothing when %s', (_, ...happenings) => {
    const state = aSession(...happenings);
    const change = when(state, nudges);
    expect(change).toEqual({ state, effects: [] });
    expect(answerNudge(state, change.state)).toBe('no_work');
  });
});
