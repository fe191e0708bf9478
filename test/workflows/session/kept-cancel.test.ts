/** Cancels that came as a signal, because no worker answered. */
import {
  after,
  aSession,
  cancels,
  CHAIN,
  computed,
  effectsOf,
  fateOf,
  noticesOf,
  NOW_MS,
  queuedIds,
  receives,
  recorded,
  schedules,
  signal,
  stops,
  timerFires,
  toldBy,
  turnOf,
  when,
} from '../../support/session-builders.js';

const [W1, W2] = [`${CHAIN}-w1`, `${CHAIN}-w2`];
const EVERY_MINUTE = { schedule: { kind: 'interval', everyMs: 60_000 }, prompt: 'look' };
const keeps = (input: unknown) => signal(input, 'cancelWake');
const whenDue = { nowMs: NOW_MS + 61_000 };

const withTwo = [1, 2].reduce(
  (state) => after(state, schedules(EVERY_MINUTE), computed(60_000, 120_000), recorded),
  aSession(),
);

test('all of them are read before anything that is due fires', () => {
  const first = when(withTwo, keeps({ wake: W1 }), whenDue);
  expect(toldBy(first)).toMatchObject([{ kind: 'WakeCancelled', wakeId: W1, withdrawn: null, running: null }]);
  expect(effectsOf(first, 'answer')).toEqual([]);
  const second = when(first.state, keeps({ wake: W2 }), whenDue);
  expect(second.state).toMatchObject({ wakes: [], queue: [], turn: null, timerAtMs: null });
});

test('what they leave is due with the timer', () => {
  const kept = when(withTwo, keeps({ wake: W1 }), whenDue);
  expect(kept.state).toMatchObject({ turn: null, timerAtMs: NOW_MS + 60_000 });
  expect(turnOf(when(kept.state, timerFires, whenDue).state).source.key).toBe(`${W2}:${NOW_MS + 60_000}`);
});

test('one that comes after a message in the same task takes the waiting occurrence back', () => {
  const wake = after(aSession(), schedules(EVERY_MINUTE), computed(60_000, 120_000), recorded);
  const busy = when(wake, receives('m1'), whenDue).state;
  const item = `wake:${W1}:${NOW_MS + 60_000}`;
  expect(queuedIds(busy)).toEqual([item]);
  const kept = when(busy, keeps({ wake: W1 }), whenDue);
  expect(queuedIds(kept.state)).toEqual([]);
  expect(fateOf(kept.state, item)).toBe('withdrawn');
});

test('one that comes twice, or names no wake, changes nothing and says nothing', () => {
  const gone = after(withTwo, cancels({ wake: W1 }), recorded);
  const kept = when(gone, keeps({ wake: W1 }));
  expect(kept).toEqual({ state: gone, effects: [] });
});

test('a malformed one is told', () => {
  expect(noticesOf(when(withTwo, keeps({ wake: 5 })))).toEqual(['malformed_signal']);
});

test('it stops the running turn of its wake when a person says so', () => {
  const running = when(withTwo, timerFires).state;
  const { id } = turnOf(running);
  const kept = when(running, keeps({ wake: W1, stopRunning: true }));
  expect(kept.state.turn?.id).not.toBe(id);
  expect(effectsOf(kept, 'cancelCalls')).toHaveLength(1);
  expect(after(kept.state, stops()).wakes.map((wake) => wake.id)).toEqual([W2]);
});
