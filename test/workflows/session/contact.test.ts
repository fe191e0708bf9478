import { LIMITS } from '../../../protocol/limits.js';
import type { SessionState } from '../../../workflows/session/state.js';
import { toView } from '../../../workflows/session/view.js';
import { upgradeState, type StoredState } from '../../../workflows/session/state.js';
import {
  after,
  answers,
  aSession,
  asksFor,
  cancels,
  CHAIN,
  computed,
  computedFires,
  edits,
  type Happening,
  NOW_MS,
  receives,
  recorded,
  reminds,
  schedules,
  timerFires,
  toldBy,
  toolEnds,
  when,
} from '../../support/session-builders.js';

const W1 = `${CHAIN}-w1`;
const MINUTE_MS = 60_000;
const EVERY_MINUTE = { schedule: { kind: 'interval', everyMs: MINUTE_MS }, prompt: 'look' };

const inMs = (state: SessionState, ms: number, happening: Happening = timerFires) =>
  when(state, happening, { nowMs: NOW_MS + ms });
const due = (...minutes: number[]) => computed(...minutes.map((n) => n * MINUTE_MS));
const wakeOf = (state: SessionState) => toView(state, 0).wakes[0]!;

function withWake(over: object): SessionState {
  return aSession(schedules({ ...EVERY_MINUTE, ...over }), due(1, 2, 3), recorded);
}

describe('a wake', () => {
  test('that keeps away while a person is at work is skipped, says so, and is over', () => {
    const recent = after(
      inMs(withWake({ skipWhenActiveMs: 30_000 }), 30_001, receives('m1')).state,
      answers(),
      recorded,
    );
    const skipped = inMs(recent, MINUTE_MS);
    expect(toldBy(skipped)).toMatchObject([
      { kind: 'WakeSkipped', reason: 'person_active', dueMs: NOW_MS + MINUTE_MS, lateMs: 0 },
    ]);
    expect(skipped.state).toMatchObject({ turn: null, queue: [], timerAtMs: NOW_MS + 2 * MINUTE_MS });
    expect(wakeOf(skipped.state)).toMatchObject({ skipWhenActiveMs: 30_000, counts: { fired: 0, skipped: 1 } });
    const next = inMs(after(skipped.state, due(2, 3, 4), recorded), 2 * MINUTE_MS);
    expect(next.state.turn?.source.kind).toBe('wake');
  });

  test('fires again when the person has been away for long enough, or never wrote', () => {
    const away = after(inMs(withWake({ skipWhenActiveMs: 30_000 }), 30_000, receives('m1')).state, answers(), recorded);
    expect(inMs(away, MINUTE_MS).state.turn?.source.kind).toBe('wake');
    expect(inMs(withWake({ skipWhenActiveMs: 30_000 }), MINUTE_MS).state.turn?.source.kind).toBe('wake');
  });

  test('keeps away from the turn of a message, however long it takes, and not from one of a reminder', () => {
    const state = withWake({ skipWhenActiveMs: 0 });
    expect(toldBy(inMs(after(state, receives('m1')), MINUTE_MS))).toMatchObject([{ reason: 'person_active' }]);
    const reminded = after(state, reminds({ reminderId: 'r', dueMs: 1, prompt: 'x' }));
    expect(toldBy(inMs(reminded, MINUTE_MS))).toMatchObject([{ kind: 'WakeDeferred' }]);
  });

  test.each([-1, 1.5, 'soon'])('is refused with skipWhenActiveMs %j', (skipWhenActiveMs) => {
    const refused = when(aSession(), schedules({ ...EVERY_MINUTE, skipWhenActiveMs }));
    expect(refused.effects).toMatchObject([{ kind: 'answer', answer: { kind: 'refused' } }]);
  });
});

describe('due times that start nothing', () => {
  test('because an occurrence of their wake has not ended are told of together when it has', () => {
    let state = after(inMs(withWake({}), MINUTE_MS).state, due(2, 3, 4), recorded);
    for (const minute of [2, 3]) state = after(inMs(state, minute * MINUTE_MS).state, due(minute + 1, minute + 2));
    const ended = when(after(state, recorded), answers());
    expect(toldBy(ended)).toMatchObject([
      {
        ...{ kind: 'WakeSkipped', reason: 'still_pending', count: 2 },
        ...{ dueMs: NOW_MS + 2 * MINUTE_MS, lastDueMs: NOW_MS + 3 * MINUTE_MS },
      },
    ]);
    expect(wakeOf(ended.state).counts).toMatchObject({ fired: 1, skipped: 2 });
  });

  test('are told of when the wake is cancelled before', () => {
    const running = after(inMs(withWake({}), MINUTE_MS).state, due(2, 3, 4), recorded);
    const met = after(inMs(running, 2 * MINUTE_MS).state, due(3, 4), recorded);
    const cancelled = when(met, cancels({ wake: W1 }));
    expect(toldBy(cancelled)).toMatchObject([{ kind: 'WakeSkipped', count: 1 }, { kind: 'WakeCancelled' }]);
  });

  test('at which nobody was there are told of when they are counted, and only then', () => {
    const late = inMs(withWake({}), 10.5 * MINUTE_MS).state;
    const event = { kind: 'firesComputed' as const, id: W1, result: computedFires([11 * MINUTE_MS], { missed: 9 }) };
    const counted = when(after(late, recorded), event);
    expect(toldBy(counted)).toMatchObject([
      {
        ...{ kind: 'WakeSkipped', reason: 'missed', count: 9 },
        ...{ dueMs: NOW_MS + MINUTE_MS, lastDueMs: NOW_MS + 10.5 * MINUTE_MS, lateMs: 9.5 * MINUTE_MS },
      },
    ]);
  });
});

describe('an agent that wakes itself', () => {
  const byAgent = { by: { rank: 'agent', name: 'coder' } };

  /** So many fires in a row; the wake is due again in the minute after. */
  function afterFires(count: number, by: object): SessionState {
    let state = withWake(by);
    for (let minute = 1; minute <= count; minute++) {
      const fired = inMs(after(state, recorded), minute * MINUTE_MS).state;
      state = after(fired, due(minute + 1, minute + 2, minute + 3), recorded, answers(), recorded);
    }
    return state;
  }
  const streak = afterFires(LIMITS.selfMadeFires, byAgent);
  const nextMs = (LIMITS.selfMadeFires + 1) * MINUTE_MS;

  test('again and again, without word from anyone, is paused, visibly', () => {
    const paused = inMs(streak, nextMs);
    expect(toldBy(paused)).toMatchObject([{ kind: 'WakeDisabled', wakeId: W1 }]);
    expect(paused.state).toMatchObject({ turn: null, queue: [], timerAtMs: null });
    expect(wakeOf(paused.state)).toMatchObject({ state: 'disabled', counts: { fired: LIMITS.selfMadeFires } });
  });

  test('goes on when a message comes, with what was due meanwhile', () => {
    const { state } = inMs(inMs(streak, nextMs).state, nextMs + 1, receives('m1'));
    expect(wakeOf(state)).toMatchObject({ state: 'active', pending: expect.stringContaining(W1) as string });
    expect(state.selfMadeFires).toBe(1);
    expect(state.turn?.source.kind).toBe('message');
    expect(after(state, answers()).turn?.source.kind).toBe('wake');
  });

  test('goes on when a reminder comes or a person edits a wake, and not when the agent does', () => {
    const paused = after(inMs(streak, nextMs).state, recorded);
    const reminded = inMs(paused, nextMs + 1, reminds({ reminderId: 'r', dueMs: 1, prompt: 'x' })).state;
    expect(wakeOf(reminded).state).toBe('active');
    const later = due(LIMITS.selfMadeFires + 2, LIMITS.selfMadeFires + 3);
    const byPerson = after(inMs(paused, nextMs, edits({ wake: W1, jitterMs: 0 })).state, later);
    expect(byPerson.selfMadeFires).toBe(0);
    const again = after(inMs(paused, nextMs, edits({ wake: W1, jitterMs: 0, ...byAgent })).state, later, recorded);
    expect(toldBy(inMs(again, nextMs + MINUTE_MS))).toMatchObject([{ kind: 'WakeDisabled' }]);
  });

  test('is not counted as such while people write, nor are wakes of people', () => {
    const heard = inMs(after(streak, receives('m1'), answers(), recorded), nextMs);
    expect(heard.state.turn?.source.kind).toBe('wake');
    expect(inMs(afterFires(LIMITS.selfMadeFires, {}), nextMs).state.turn?.source.kind).toBe('wake');
  });

  test('a repeat of an old message is no word from anyone', () => {
    const state = after(aSession(receives('m1'), answers(), recorded));
    expect(inMs(state, 5, receives('m1')).state.personAtMs).toBe(NOW_MS);
  });
});

test('a message that comes while a wake waits does not take its place, and both have their turn in the order they came', () => {
  const busy = after(withWake({}), receives('m1'), asksFor('look'));
  const waiting = after(inMs(busy, MINUTE_MS).state, receives('m2', { mode: 'queue' }), due(2, 3, 4));
  const first = after(waiting, toolEnds(0), answers());
  expect(first.turn?.source.kind).toBe('wake');
  expect(after(first, answers()).turn?.source).toEqual({ kind: 'message', key: 'm2' });
});

test('wakes and requests of the version before have the defaults', () => {
  const state = after(withWake({}), edits({ wake: W1, jitterMs: 0 }), timerFires);
  const { personAtMs: _, selfMadeFires: __, ...rest } = state;
  const wakes = rest.wakes.map(({ skipWhenActiveMs: ___, paused: ____, coalesced: _____, ...wake }) => wake);
  const computing = rest.computing.map((request) => {
    if (request.kind === 'refill') return request;
    const { skipWhenActiveMs: ___, ...settings } = request.draft.settings;
    return { ...request, draft: { ...request.draft, settings } };
  });
  const stored: StoredState = JSON.parse(JSON.stringify({ ...rest, wakes, computing })) as StoredState;
  expect(computing.map(({ kind }) => kind).sort()).toEqual(['draft', 'refill']);
  expect(upgradeState(stored)).toEqual({ ...state, personAtMs: null });
  const { wakes: _wakes, computing: _computing, ...older } = stored;
  expect(upgradeState(older)).toMatchObject({ wakes: [], computing: [] });
});
