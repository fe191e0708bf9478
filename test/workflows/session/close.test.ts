import { isFinished } from '../../../workflows/session/advance.js';
import {
  after,
  answerOf,
  answers,
  aSession,
  asksFor,
  cancels,
  CHAIN,
  closes,
  computed,
  dispositionsOf,
  edits,
  effectOf,
  effectsOf,
  fails,
  fateOf,
  noticesOf,
  opened,
  receives,
  recorded,
  reminds,
  rolledOver,
  schedules,
  timerFires,
  toldBy,
  toolEnds,
  when,
} from '../../support/session-builders.js';

const INTERVAL = { schedule: { kind: 'interval', everyMs: 60_000 }, prompt: 'look' };
const W1 = `${CHAIN}-w1`;
const withWake = aSession(schedules(INTERVAL), computed(60_000), recorded);
const REFUSED = { kind: 'refused', reason: 'session_closed' };

test('closing removes the wakes, ends the turn, refuses what waits, and says so', () => {
  const busy = after(withWake, receives('m1'), receives('m2'), timerFires, computed(120_000), recorded, recorded);
  const closed = when(busy, closes({ by: { name: 'ada' } }));
  const items = ['m2', expect.stringContaining(`wake:${W1}:`) as string];
  expect(answerOf(closed)).toEqual({ kind: 'closed', wakes: [W1], turnId: `${CHAIN}-1`, items });
  expect(closed.state).toMatchObject({ closed: true, wakes: [], queue: [], turn: null, timerAtMs: null });
  expect(effectsOf(closed, 'cancelCalls')).toHaveLength(1);
  const { input } = effectOf(closed, 'record');
  expect(input).toMatchObject({ status: 'closed', queued: 0, outcomes: [{ outcome: 'aborted' }] });
  expect(input.items.map(({ fate }) => fate)).toEqual(['answered', 'refused', 'refused']);
  expect(input.outputs.at(-1)).toMatchObject({
    kind: 'SessionClosed',
    by: 'ada',
    wakes: [W1],
    items,
    interrupted: `${CHAIN}-1`,
  });
  expect(dispositionsOf(closed, 'm2')).toMatchObject([REFUSED]);
});

test('a closed session is finished once everything is recorded', () => {
  const closed = after(withWake, closes());
  expect([isFinished(closed), isFinished(after(closed, recorded)), isFinished(withWake)]).toEqual([false, true, false]);
  const late = after(closed, recorded, receives('m1'));
  expect(isFinished(late)).toBe(false);
  expect(isFinished(after(late, recorded))).toBe(true);
});

test('it refuses whatever comes later, and knows repeats', () => {
  const closed = after(aSession(receives('m1'), answers(), closes()), recorded);
  expect(dispositionsOf(when(closed, receives('m2')), 'm2')).toMatchObject([REFUSED]);
  expect(fateOf(after(closed, receives('m2')), 'm2')).toBeUndefined();
  expect(dispositionsOf(when(closed, receives('m1')), 'm1')).toMatchObject([{ kind: 'duplicate', fate: 'answered' }]);
  const reminded = when(closed, reminds({ reminderId: 'r', dueMs: 1, prompt: 'x', onBusy: 'refuse' }));
  expect(toldBy(reminded)).toMatchObject([{ kind: 'ReminderReceived', disposition: REFUSED }]);
  expect(answerOf(when(closed, closes()))).toEqual({ kind: 'already_closed', wakes: [], turnId: null, items: [] });
  expect(toldBy(when(closed, closes()))).toEqual([]);
  expect(answerOf(when(closed, edits({ wake: W1 })))).toEqual({ kind: 'not_found', existing: [] });
  expect(answerOf(when(closed, cancels({ wake: W1 })))).toEqual({ kind: 'not_found', existing: [] });
});

test('a wake that was about to be made is refused, and one on its way is not waited for', () => {
  const asked = aSession(schedules(INTERVAL), closes(), recorded);
  expect(isFinished(asked)).toBe(false);
  const decided = when(asked, computed(60_000));
  expect(answerOf(decided)).toEqual({ kind: 'refused', problems: ['the session is closed'] });
  expect(isFinished(decided.state)).toBe(true);
  const target = { kind: 'new', name: 'x' };
  const sent = aSession(schedules({ ...INTERVAL, target }), computed(60_000), timerFires, computed(120_000), closes());
  const { key } = sent.starting[0]!;
  const arrived = when(after(sent, recorded, recorded), { kind: 'sessionStarted', key, problem: 'no server' });
  expect(arrived).toMatchObject({ effects: [], state: { starting: [] } });
  expect(isFinished(arrived.state)).toBe(true);
});

test('a suspended or draining session closes too', () => {
  const suspended = aSession(receives('m1'), fails('AgentUnavailable'));
  const closed = when(suspended, closes());
  expect(closed.state).toMatchObject({ suspended: null, closed: true });
  expect(fateOf(closed.state, 'm1')).toBe('refused');
});

test('what was not recorded when the run rolls over is recorded by the next one', () => {
  const closed = when(withWake, closes(), { rollOverDue: true });
  expect(effectsOf(closed, 'continueAsNew')).toHaveLength(1);
  const next = rolledOver(closed.state);
  expect(isFinished(after(next, recorded))).toBe(true);
  expect(when(closed.state, opened).effects).toMatchObject([{ kind: 'record', input: { status: 'closed' } }]);
});

describe('a session whose store says that it was closed', () => {
  test('refuses the message that started it again, and closes', () => {
    const again = when(aSession(receives('m1'), receives('m2', { mode: 'queue' }), recorded), fails('SessionClosed'));
    expect(again.state).toMatchObject({ closed: true, turn: null, queue: [] });
    expect(noticesOf(again)).toEqual(['session_closed']);
    for (const id of ['m1', 'm2']) {
      expect(fateOf(again.state, id)).toBe('refused');
      expect(dispositionsOf(again, id)).toContainEqual(expect.objectContaining(REFUSED));
    }
    expect(toldBy(again).map(({ kind }) => kind)).not.toContain('TurnStarted');
    expect(effectOf(again, 'record').input.outcomes).toEqual([]);
  });

  test('ends a turn that had begun as interrupted', () => {
    const begun = aSession(receives('m1'), asksFor('look'), toolEnds(0));
    const again = when(begun, fails('SessionClosed'));
    expect(again.state).toMatchObject({ closed: true, lastOutcome: { outcome: 'interrupted' } });
    expect(toldBy(again).at(-1)).toMatchObject({ kind: 'SessionClosed', by: 'earlier', interrupted: `${CHAIN}-1` });
  });
});
