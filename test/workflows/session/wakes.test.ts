import { LIMITS } from '../../../protocol/limits.js';
import type { ScheduleWakeInput, WakeView } from '../../../protocol/wakes.js';
import type { SessionState } from '../../../workflows/session/state.js';
import { toView } from '../../../workflows/session/view.js';
import {
  after,
  answerOf,
  answers,
  aSession,
  cancels,
  CHAIN,
  computed,
  computedFires,
  drains,
  edits,
  effectOf,
  effectsOf,
  fails,
  fateOf,
  type Happening,
  notComputed,
  NOW_MS,
  opened,
  queuedIds,
  receives,
  recorded,
  resumes,
  rolledOver,
  schedules,
  stops,
  timerFires,
  toldBy,
  turnOf,
  undrains,
  when,
} from '../../support/session-builders.js';

const EVERY_MINUTE: ScheduleWakeInput = { schedule: { kind: 'interval', everyMs: 60_000 }, prompt: 'look' };
const ONCE: ScheduleWakeInput = { schedule: { kind: 'once', inMs: 60_000 }, prompt: 'stretch' };
const W1 = `${CHAIN}-w1`;
const item = (dueInMs: number, wakeId = W1) => `wake:${wakeId}:${NOW_MS + dueInMs}`;

/** An idle session with these wakes, due every minute from now on. */
function withWakes(...inputs: object[]): SessionState {
  return inputs.reduce<SessionState>(
    (state, input) =>
      after(state, schedules({ ...EVERY_MINUTE, ...input }), computed(60_000, 120_000, 180_000), recorded),
    aSession(),
  );
}

const wakeOf = (state: SessionState): WakeView => toView(state, 0).wakes[0]!;
const kinds = (change: ReturnType<typeof when>) => toldBy(change).map(({ kind }) => kind);
/** The clock is so many milliseconds after `NOW_MS` when it happens. */
const inMs = (state: SessionState, ms: number, happening: Happening = timerFires) =>
  when(state, happening, { nowMs: NOW_MS + ms });
const refill = computed(120_000, 180_000, 240_000);

describe('scheduling', () => {
  test('asks for the due times first, and answers when they are known', () => {
    const asked = when(aSession(), schedules(EVERY_MINUTE));
    expect(effectsOf(asked, 'answer')).toEqual([]);
    expect(effectOf(asked, 'computeFires')).toEqual({
      kind: 'computeFires',
      id: 'u1',
      input: {
        ...{ schedule: { kind: 'interval', everyMs: 60_000, startMs: NOW_MS }, zone: null, afterMs: NOW_MS, count: 3 },
      },
    });
    const made = when(asked.state, computed(60_000, 120_000));
    expect(answerOf(made)).toMatchObject({
      kind: 'scheduled',
      replaced: false,
      wake: { id: W1, zone: 'UTC', state: 'active', fires: [{ dueMs: NOW_MS + 60_000 }, { dueMs: NOW_MS + 120_000 }] },
    });
    expect(effectOf(made, 'armTimer').atMs).toBe(NOW_MS + 60_000);
    expect(kinds(made)).toEqual(['WakeScheduled']);
  });

  test.each<[what: string, input: unknown, problem: RegExp]>([
    ['nothing', undefined, /must be an object/],
    ['a list', [], /must be an object/],
    ['no schedule', { prompt: 'x' }, /needs a "schedule"/],
    ['no prompt', { schedule: ONCE.schedule }, /needs a "prompt"/],
    ['an empty prompt', { ...ONCE, prompt: ' ' }, /not empty/],
    ['too long a prompt', { ...ONCE, prompt: 'é'.repeat(LIMITS.wakePromptBytes) }, /store it first/],
    ['a reference to nothing', { ...ONCE, prompt: { ref: 'https://x' } }, /blob:/],
    ['an unknown schedule', { ...ONCE, schedule: { kind: 'often' } }, /kind "once"/],
    ['a schedule that is no object', { ...ONCE, schedule: 'daily' }, /kind "once"/],
    ['both instants', { ...ONCE, schedule: { kind: 'once', inMs: 1, atMs: 1 } }, /not both/],
    ['no instant', { ...ONCE, schedule: { kind: 'once' } }, /not both/],
    ['a past instant', { ...ONCE, schedule: { kind: 'once', atMs: NOW_MS } }, /after now/],
    ['a broken duration', { ...ONCE, schedule: { kind: 'once', inMs: 1.5 } }, /after now/],
    ['the far future', { ...ONCE, schedule: { kind: 'once', inMs: LIMITS.wakeHorizonMs + 1 } }, /within ten years/],
    ['a short interval', { ...ONCE, schedule: { kind: 'interval', everyMs: 4_999 } }, /at least 5000 ms/],
    ['an interval without', { ...ONCE, schedule: { kind: 'interval' } }, /at least 5000 ms/],
    ['an endless interval', { ...ONCE, schedule: { kind: 'interval', everyMs: 1e15 } }, /at most ten years/],
    ['a start far off', { ...ONCE, schedule: { kind: 'interval', everyMs: 5_000, startMs: 1 } }, /"startMs"/],
    ['a start that is none', { ...ONCE, schedule: { kind: 'interval', everyMs: 5_000, startMs: '1' } }, /"startMs"/],
    ['no expression', { ...ONCE, schedule: { kind: 'cron' } }, /"expression"/],
    ['too long an expression', { ...ONCE, schedule: { kind: 'cron', expression: '*'.repeat(101) } }, /"expression"/],
    ['a zone that is no name', { ...ONCE, zone: 3 }, /"zone"/],
    ['an unknown rule', { ...ONCE, missed: 'twice' }, /"missed"/],
    ['jitter without bound', { ...ONCE, jitterMs: LIMITS.wakeJitterMs + 1 }, /"jitterMs"/],
    ['negative lateness', { ...ONCE, maxLatenessMs: -1 }, /"maxLatenessMs"/],
    ['an expiry that is over', { ...ONCE, expiresAtMs: NOW_MS }, /"expiresAtMs"/],
    ['an unknown target', { ...ONCE, target: 'there' }, /"target"/],
    ['a target without a name', { ...ONCE, target: { kind: 'new' } }, /"target"/],
    ['another tenant', { ...ONCE, target: { kind: 'new', name: 'b/c' } }, /"target.name"/],
    ['a bad name', { ...ONCE, target: { kind: 'new', name: '-' } }, /"target.name"/],
    ['itself', { ...ONCE, target: { kind: 'new', name: 's1' } }, /"target.name"/],
    ['a bad agent', { ...ONCE, target: { kind: 'new', name: 'x', agent: '' } }, /"target.agent"/],
    ['a bad key', { ...ONCE, key: '' }, /"key"/],
    ['a bad actor', { ...ONCE, by: 'me' }, /"by" must/],
    ['a bad rank', { ...ONCE, by: { rank: 'king' } }, /"by.rank"/],
    ['a bad actor name', { ...ONCE, by: { name: '' } }, /"by.name"/],
  ])('with %s is refused at once', (_, input, problem) => {
    const refused = when(aSession(), schedules(input));
    expect(answerOf(refused)).toMatchObject({ kind: 'refused' });
    expect((answerOf(refused) as { problems: string[] }).problems.join()).toMatch(problem);
    expect(refused.state.computing).toEqual([]);
  });

  test('says all problems together', () => {
    const refused = when(aSession(), schedules({ zone: 1, missed: 2 }));
    expect((answerOf(refused) as { problems: string[] }).problems).toHaveLength(4);
  });

  test.each<[what: string, result: Happening, problem: RegExp, over?: object]>([
    ['the worker cannot read', notComputed, /no such zone/],
    ['is never due', computed(), /no due time/],
    ['would be due before it was asked about', computed(-5), /would not be after/],
    ['expires first', computed(60_000), /later "expiresAtMs"/, { expiresAtMs: NOW_MS + 60_000 }],
  ])('one that %s is refused', (_, result, problem, over = {}) => {
    const refused = when(after(aSession(), schedules({ ...EVERY_MINUTE, ...over })), result);
    expect((answerOf(refused) as { problems: string[] }).problems[0]).toMatch(problem);
    expect(refused.state.wakes).toEqual([]);
  });

  test('more wakes than the limit are refused, unless they replace one', () => {
    const full = withWakes(...Array.from({ length: LIMITS.wakesPerSession }, (_, n) => ({ key: `k${n}` })));
    const refused = when(after(full, schedules(EVERY_MINUTE)), computed(60_000));
    expect((answerOf(refused) as { problems: string[] }).problems[0]).toMatch(/limit/);
    const replaced = when(after(full, schedules({ ...EVERY_MINUTE, key: 'k0' })), computed(60_000));
    expect(answerOf(replaced)).toMatchObject({ kind: 'scheduled', replaced: true });
  });

  test('the same key replaces the wake, which keeps its id; what is left out is the default again', () => {
    const first = withWakes({ key: 'k', jitterMs: 5 });
    const asked = after(first, schedules({ ...ONCE, key: 'k', by: { rank: 'agent', name: 'coder' } }));
    const { state } = when(asked, computed(60_000));
    expect(state.wakes).toMatchObject([{ id: W1, key: 'k', jitterMs: 0, schedule: { kind: 'once' } }]);
    expect(wakeOf(state)).toMatchObject({ createdBy: 'coder', kind: 'once' });
  });

  test('a stored prompt, a target and a cron schedule are kept', () => {
    const prompt = { ref: `blob:${'a'.repeat(64)}` };
    const target = { kind: 'new', name: 'report-{due}', agent: 'writer' };
    const state = withWakes({
      prompt,
      target,
      schedule: { kind: 'cron', expression: '* * * * *' },
      zone: 'Asia/Tokyo',
    });
    expect(wakeOf(state)).toMatchObject({ kind: 'cron', schedule: 'cron * * * * *', target, prompt: prompt.ref });
    expect(wakeOf(withWakes({ target: { kind: 'this' } })).target).toEqual({ kind: 'this' });
  });
});

test('a list shows the beginning of what a wake asks for', () => {
  expect(wakeOf(withWakes({ prompt: 'x'.repeat(200) })).prompt).toBe('x'.repeat(200));
  expect(wakeOf(withWakes({ prompt: 'x'.repeat(201) })).prompt).toBe(`${'x'.repeat(200)} …`);
});

describe('editing', () => {
  const edited = (state: SessionState, change: object, ...due: number[]) =>
    when(after(state, edits({ wake: W1, ...change })), computed(...due));

  test('keeps what is not given', () => {
    const state = withWakes({ key: 'k', missed: 'skip', by: { name: 'ada' } });
    const { state: changed } = edited(state, { prompt: 'other' }, 60_000);
    expect(changed.wakes[0]).toMatchObject({ prompt: { text: 'other' }, missed: 'skip', key: 'k' });
    expect(wakeOf(changed).createdBy).toBe('ada');
  });

  test('of an unknown wake, or one that is gone by the time, answers which exist', () => {
    expect(answerOf(when(withWakes({}), edits({ wake: 'no' })))).toEqual({ kind: 'not_found', existing: [W1] });
    const asked = after(withWakes({}), edits({ wake: W1 }), cancels({ wake: W1 }));
    expect(answerOf(when(asked, computed(60_000)))).toEqual({ kind: 'not_found', existing: [] });
  });

  test('with problems is refused', () => {
    expect(answerOf(when(withWakes({}), edits({ wake: 5 })))).toMatchObject({ kind: 'refused' });
  });

  test('never brings a due time back', () => {
    const fired = after(withWakes({}), timerFires, refill, answers(), recorded);
    const asked = when(fired, edits({ wake: W1, prompt: 'other' }));
    expect(effectOf(asked, 'computeFires').input.afterMs).toBe(NOW_MS + 60_000);
    const raced = inMs(after(withWakes({}), edits({ wake: W1 })), 60_000).state;
    const { state } = when(raced, computed(60_000));
    expect(state.wakes[0]).toMatchObject({ fires: [], lastDueMs: NOW_MS + 60_000 });
    // What was asked for under the old terms comes first, and means nothing.
    const again = when(state, refill, { nowMs: NOW_MS + 60_000 });
    expect(again.state.wakes[0]!.fires).toEqual([]);
    expect(effectOf(again, 'computeFires').input.afterMs).toBe(NOW_MS + 60_000);
  });

  test('makes due times that were asked for before meaningless', () => {
    const firing = after(withWakes({}), timerFires, edits({ wake: W1, schedule: ONCE.schedule }));
    const [refillAsked, editAsked] = firing.computing;
    const done = when(firing, { kind: 'firesComputed', id: editAsked!.id, result: computedFires([70_000]) }).state;
    const late = when(done, { kind: 'firesComputed', id: refillAsked!.id, result: computedFires([61_000]) }).state;
    expect(late.wakes[0]!.fires).toMatchObject([{ dueMs: NOW_MS + 70_000 }]);
  });
});

describe('a due wake', () => {
  test('starts a turn of its own in an idle session, and asks for its next due times', () => {
    const fired = when(withWakes({}), timerFires);
    const turn = turnOf(fired.state);
    expect(turn.source).toEqual({ kind: 'wake', key: `${W1}:${NOW_MS + 60_000}` });
    expect(kinds(fired)).toEqual(['WakeFired', 'TurnStarted']);
    expect(toldBy(fired)).toMatchObject([
      { wakeId: W1, dueMs: NOW_MS + 60_000, lateMs: 0, skipped: 0, turnId: turn.id },
      { why: `wake ${W1}, due 2026-01-01T00:01:00.000Z` },
    ]);
    const [message] = effectOf(fired, 'callModel').input.append;
    expect(message).toMatchObject({
      messageId: item(60_000),
      parts: [
        {
          text: `[wake ${W1}, set by person, due in 60000 ms, every 60 s from 2026-01-01T00:00:00.000Z; to end it, cancel wake "${W1}"]`,
        },
        { text: 'look' },
      ],
    });
    expect(effectOf(fired, 'computeFires').input).toMatchObject({
      afterMs: NOW_MS + 60_000,
      missedSinceMs: NOW_MS + 60_000,
    });
    expect(effectOf(fired, 'armTimer').atMs).toBe(NOW_MS + 120_000);
  });

  test('tells the model its key and its creator, and of a single one nothing that could be ended', () => {
    const made = after(
      aSession(),
      schedules({ ...ONCE, key: 'k', by: { rank: 'agent', name: 'coder' } }),
      computed(60_000),
    );
    const [message] = effectOf(when(made, timerFires), 'callModel').input.append;
    expect(message).toMatchObject({
      parts: [{ text: `[wake ${W1} with the key "k", set by agent coder, due in 60000 ms, once]` }, {}],
    });
  });

  test('waits behind a running turn, and says so once', () => {
    const busy = after(withWakes({}), receives('m1'));
    const due = when(busy, timerFires);
    expect(kinds(due)).toEqual(['WakeDeferred']);
    expect(queuedIds(due.state)).toEqual([item(60_000)]);
    expect(toView(due.state, 0).queue).toEqual([{ id: item(60_000), kind: 'wake' }]);
    expect(wakeOf(due.state).pending).toBe(item(60_000));
    const next = when(after(due.state, recorded), answers());
    expect(kinds(next)).toEqual(['WakeFired', 'TurnStarted']);
  });

  test('that waits or runs is not joined by a second occurrence; those are counted', () => {
    const due = after(withWakes({}), receives('m1'), timerFires, refill);
    const again = when(due, timerFires).state;
    expect(queuedIds(again)).toEqual([item(60_000)]);
    expect(wakeOf(again).counts).toEqual({ fired: 1, skipped: 1, failures: 0 });
    const running = after(withWakes({}), timerFires, refill, timerFires);
    expect(wakeOf(running).counts).toMatchObject({ fired: 1, skipped: 1 });
    const fired = when(after(again, recorded), answers());
    expect(toldBy(fired)).toMatchObject([{ kind: 'WakeFired', skipped: 1 }, {}]);
  });

  test('that could not begin is told to fire when it does', () => {
    const suspended = when(after(withWakes({}), timerFires, refill), fails('AgentUnavailable'));
    expect(kinds(suspended)).toEqual(['Notice', 'WakeDeferred']);
    expect(queuedIds(suspended.state)).toEqual([item(60_000)]);
    expect(kinds(when(after(suspended.state, recorded), resumes()))).toContain('WakeFired');
  });

  test('is gone when it is due once', () => {
    const state = after(aSession(), schedules(ONCE), computed(60_000));
    const fired = when(after(state, recorded), timerFires);
    expect(fired.state.wakes).toEqual([]);
    expect(effectsOf(fired, 'computeFires')).toEqual([]);
    expect(turnOf(fired.state).source.key).toBe(`${W1}:${NOW_MS + 60_000}`);
  });

  test('once is said to be skipped when an earlier occurrence of it has not ended', () => {
    const running = after(withWakes({}), timerFires, computed(120_000), edits({ wake: W1, schedule: ONCE.schedule }));
    const due = inMs(after(running, computed(130_000), recorded), 130_000);
    expect(toldBy(due)).toMatchObject([{ kind: 'WakeSkipped', reason: 'still_pending' }]);
    expect(due.state.wakes).toEqual([]);
  });

  test('that nobody took up for hours fires once, late; what was missed is counted', () => {
    const late = inMs(withWakes({}), 7_200_000);
    expect(toldBy(late)[0]).toMatchObject({ kind: 'WakeFired', dueMs: NOW_MS + 60_000, lateMs: 7_140_000 });
    const { input } = effectOf(late, 'computeFires');
    expect(input).toMatchObject({ afterMs: NOW_MS + 7_200_000, missedSinceMs: NOW_MS + 60_000 });
    const result = computedFires([7_260_000], { missed: 119 });
    const known = when(late.state, { kind: 'firesComputed', id: W1, result });
    expect(wakeOf(known.state)).toMatchObject({
      counts: { fired: 1, skipped: 119 },
      fires: [{ dueMs: NOW_MS + 7_260_000 }],
    });
  });

  test.each([
    [{ missed: 'skip' }, 60_000, false],
    [{ missed: 'skip' }, 60_001, true],
    [{ maxLatenessMs: 0 }, 0, false],
    [{ maxLatenessMs: 0 }, 1, true],
    [{ missed: 'skip', maxLatenessMs: 90_000 }, 80_000, false],
  ])('with %j that is %i ms late is skipped: %s', (over, lateMs, isSkipped) => {
    const due = inMs(withWakes(over), 60_000 + lateMs);
    expect(due.state.turn === null).toBe(isSkipped);
    expect(kinds(due)).toEqual(isSkipped ? ['WakeSkipped'] : ['WakeFired', 'TurnStarted']);
    expect(wakeOf(due.state).counts.skipped).toBe(isSkipped ? 1 : 0);
  });

  test('is spread by its jitter, always by the same time', () => {
    const state = withWakes({ jitterMs: 30_000 });
    const spread = state.timerAtMs! - NOW_MS - 60_000;
    expect(spread).toBeGreaterThan(0);
    expect(spread).toBeLessThan(30_000);
    const early = inMs(state, 60_000 + spread - 1);
    expect(early.state.turn).toBeNull();
    const fired = after(state, timerFires, refill);
    expect(fired.timerAtMs).toBe(NOW_MS + 120_000 + spread);
    expect(turnOf(fired).source.key).toBe(`${W1}:${NOW_MS + 60_000}`);
  });

  test('fires in the order of the due times, and no earlier than it is due', () => {
    const both = after(aSession(), schedules(ONCE), computed(60_000), schedules(ONCE), computed(30_000), recorded);
    expect(both.timerAtMs).toBe(NOW_MS + 30_000);
    const { state } = inMs(both, 90_000);
    expect([turnOf(state).itemIds[0], ...queuedIds(state)]).toEqual([item(30_000, `${CHAIN}-w2`), item(60_000)]);
    expect(inMs(both, 20_000).state.timerAtMs).toBe(NOW_MS + 30_000);
  });

  test('is left to the next run when this one is about to roll over', () => {
    const state = withWakes({});
    const due = when(state, receives('m1'), { nowMs: NOW_MS + 60_000, rollOverDue: true });
    expect(due.state).toMatchObject({ timerAtMs: null, turn: null });
    const next = rolledOver(due.state);
    expect(next.timerAtMs).toBe(NOW_MS + 60_000);
    expect(turnOf(inMs(due.state, 60_001, opened).state).source.kind).toBe('message');
  });

  test('waits while the session drains', () => {
    const due = after(withWakes({}), drains, timerFires);
    expect(due.turn).toBeNull();
    expect(turnOf(after(due, undrains)).source.kind).toBe('wake');
  });

  test('is counted as waiting by a call that goes out again in the same moment', () => {
    const waiting = after(withWakes({}), receives('m1'), fails('ModelBusy', { retryAfterMs: 60_000 }));
    const again = inMs(waiting, 90_000);
    expect(effectOf(again, 'callModel').input.settlement.queued).toBe(1);
    const lost = inMs(after(withWakes({}), receives('m1')), 60_000, fails('WorkerLost'));
    expect(effectOf(lost, 'callModel').input.settlement.queued).toBe(1);
  });
});

describe('next due times', () => {
  const fired = after(withWakes({}), timerFires, recorded);

  test.each<[string, Happening, RegExp]>([
    ['that cannot be computed', notComputed, /no such zone/],
    ['that do not exist', computed(), /no due time/],
    ['that are not later', computed(60_000), /would not be after/],
    ['that do not rise', computed(120_000, 120_000), /would not be after/],
  ])('%s disable the wake, visibly', (_, result, reason) => {
    const known = when(fired, result);
    const { state } = known;
    expect(wakeOf(state)).toMatchObject({
      state: 'disabled',
      fires: [],
      reason: expect.stringMatching(reason) as string,
    });
    expect(state.timerAtMs).toBeNull();
    expect(kinds(known)).toEqual(['WakeDisabled']);
    const enabled = when(after(state, edits({ wake: W1, enable: true })), computed(180_000)).state;
    expect(wakeOf(enabled)).toMatchObject({ state: 'active', reason: null });
  });

  test('of a wake that was cancelled or disabled meanwhile are dropped', () => {
    expect(when(after(fired, cancels({ wake: W1 })), refill).state.wakes).toEqual([]);
    const disabled = { ...fired, wakes: [{ ...fired.wakes[0]!, disabled: 'x', fires: [], needsFires: false }] };
    expect(when(disabled, refill).state.wakes[0]!.fires).toEqual([]);
  });

  test('that nobody asked for change nothing', () => {
    const result = computedFires([1]);
    expect(when(aSession(), { kind: 'firesComputed', id: 'x', result }).state).toEqual(aSession());
  });

  test('are asked for again when the wake fired while they were computed, and not twice at a time', () => {
    const twice = inMs(fired, 120_000).state;
    expect(twice.computing).toHaveLength(1);
    const known = when(twice, refill, { nowMs: NOW_MS + 120_000 });
    expect(known.state.wakes[0]!.fires).toMatchObject([{ dueMs: NOW_MS + 180_000 }, { dueMs: NOW_MS + 240_000 }]);
    expect(wakeOf(known.state).counts).toMatchObject({ fired: 1, skipped: 1 });
    expect(effectOf(known, 'computeFires').input.afterMs).toBe(NOW_MS + 120_000);
  });

  test('hold up continue-as-new while they are computed, and are asked for by the next run otherwise', () => {
    const over = when(after(fired, answers()), opened, { rollOverDue: true });
    expect(effectsOf(over, 'continueAsNew')).toEqual([]);
    expect(effectsOf(when(over.state, refill, { rollOverDue: true }), 'continueAsNew')).toHaveLength(1);
    const unasked = { ...withWakes({}), wakes: [{ ...withWakes({}).wakes[0]!, needsFires: true, fires: [] }] };
    expect(effectsOf(when(unasked, opened, { rollOverDue: true }), 'computeFires')).toEqual([]);
    expect(effectOf(when(unasked, opened), 'computeFires').input).toMatchObject({ afterMs: NOW_MS });
  });
});

test('a request that comes when the run rolls over is answered first, and begins nothing else', () => {
  const waiting = when(aSession(), receives('m1'), { rollOverDue: true });
  expect(effectsOf(waiting, 'continueAsNew')).toHaveLength(1);
  const asked = when(waiting.state, schedules(EVERY_MINUTE), { rollOverDue: true });
  expect(asked.effects.map(({ kind }) => kind)).toEqual(['computeFires']);
  const answered = when(asked.state, computed(60_000), { rollOverDue: true });
  expect(answered.effects.map(({ kind }) => kind)).toEqual(['answer', 'continueAsNew']);
});

describe('expiry', () => {
  test('ends the wake, and is announced', () => {
    const state = withWakes({ expiresAtMs: NOW_MS + 90_000 });
    const fired = after(state, timerFires, refill, answers(), recorded);
    expect(fired.timerAtMs).toBe(NOW_MS + 90_000);
    const over = when(fired, timerFires);
    expect(toldBy(over)).toMatchObject([{ kind: 'WakeExpired', wakeId: W1, expiredAtMs: NOW_MS + 90_000 }]);
    expect(over.state).toMatchObject({ wakes: [], timerAtMs: null });
  });

  test('comes before due times that were missed', () => {
    const over = inMs(withWakes({ expiresAtMs: NOW_MS + 90_000 }), 90_000);
    expect(kinds(over)).toEqual(['WakeExpired']);
  });
});

describe('failures of its turns', () => {
  /** The wake's turn begins, and ends so. */
  function lives(state: SessionState, end: Happening): SessionState {
    const due = state.wakes[0]!.fires[0]!.dueMs - NOW_MS;
    return after(state, timerFires, computed(due + 60_000, due + 120_000), end, recorded);
  }

  const failing = (times: number) =>
    Array.from({ length: times }).reduce<SessionState>((state) => lives(state, fails('Defect')), withWakes({}));

  test('in a row disable a recurring wake, visibly, and an edit puts it to work again', () => {
    expect(wakeOf(failing(4))).toMatchObject({ state: 'active', counts: { failures: 4 } });
    const due = failing(4).wakes[0]!.fires[0]!.dueMs - NOW_MS;
    const fifth = when(after(failing(4), timerFires, computed(due + 60_000)), fails('Defect'));
    expect(kinds(fifth)).toContain('WakeDisabled');
    expect(wakeOf(fifth.state)).toMatchObject({ state: 'disabled', counts: { failures: 5 } });
    const enabled = when(after(fifth.state, edits({ wake: W1, enable: true })), computed(due + 120_000)).state;
    expect(wakeOf(enabled)).toMatchObject({ state: 'active', counts: { failures: 0 } });
  });

  test('are forgotten with a completed one', () => {
    expect(wakeOf(lives(failing(4), answers())).counts.failures).toBe(0);
  });

  test.each<[string, Happening, number]>([
    ['a failed answer', answers({ outcome: 'failed', reason: 'filtered' }), 1],
    ['a stall', fails('HeartbeatTimeout', { attempt: null }), 1],
    ['a refusal', fails('ModelRejected'), 1],
    ['a stop', stops(), 0],
    ['workers that disagree', fails('ProfileChanged'), 0],
    ['a missing agent', fails('AgentUnavailable', { attempt: 2 }), 0],
  ])('%s counts as %i', (_, end, failures) => {
    expect(wakeOf(lives(withWakes({}), end)).counts.failures).toBe(failures);
  });

  test('a provider that stays busy does not count, and a failure after it does', () => {
    const running = after(withWakes({}), timerFires, refill);
    const impatient = { ...running, profile: { ...running.profile, providerWaitPerTurnMs: 0 } };
    expect(wakeOf(after(impatient, fails('ModelBusy'))).counts.failures).toBe(0);
    const recovered = after(running, fails('ModelBusy'));
    const ended = when(when(recovered, timerFires).state, fails('Defect')).state;
    expect(wakeOf(ended).counts.failures).toBe(1);
    const cut = when(when(recovered, timerFires).state, answers({ outcome: 'failed' })).state;
    expect(wakeOf(cut).counts.failures).toBe(1);
  });

  test("of turns of messages are no wake's", () => {
    expect(wakeOf(after(withWakes({}), receives('m1'), fails('Defect'))).counts.failures).toBe(0);
  });
});

describe('a cancel', () => {
  test('removes the future', () => {
    const cancelled = when(withWakes({ key: 'k' }), cancels({ wake: 'k', by: { name: 'ada' } }));
    expect(answerOf(cancelled)).toEqual({
      ...{ kind: 'cancelled', wakeId: W1, future: true, waiting: false, running: null, stopped: false },
    });
    expect(cancelled.state).toMatchObject({ wakes: [], timerAtMs: null });
    expect(toldBy(cancelled)).toMatchObject([{ kind: 'WakeCancelled', wakeId: W1, by: 'ada', withdrawn: null }]);
  });

  test('withdraws the occurrence that waits', () => {
    const waiting = after(withWakes({}), receives('m1'), timerFires, refill, recorded);
    const cancelled = when(waiting, cancels({ wake: W1 }));
    expect(answerOf(cancelled)).toMatchObject({ future: true, waiting: true, running: null });
    expect(queuedIds(cancelled.state)).toEqual([]);
    expect(fateOf(cancelled.state, item(60_000))).toBe('withdrawn');
    expect(effectOf(cancelled, 'record').input.items).toMatchObject([{ itemId: item(60_000), fate: 'withdrawn' }]);
  });

  test('of a wake that is gone still reaches its occurrence', () => {
    const once = after(aSession(), schedules(ONCE), computed(60_000), receives('m1'), timerFires);
    const cancelled = when(once, cancels({ wake: W1 }));
    expect(answerOf(cancelled)).toMatchObject({ kind: 'cancelled', future: false, waiting: true });
  });

  test('says which turn runs, and leaves it alone', () => {
    const running = after(withWakes({}), timerFires, refill);
    const cancelled = when(running, cancels({ wake: W1, stopRunning: true, by: { rank: 'agent' } }));
    expect(answerOf(cancelled)).toMatchObject({ running: turnOf(running).id, stopped: false });
    expect(turnOf(cancelled.state).id).toBe(turnOf(running).id);
    expect(after(cancelled.state, answers()).lastOutcome).toMatchObject({ outcome: 'completed' });
  });

  test('stops that turn when a person says so', () => {
    const running = after(withWakes({}), timerFires, refill);
    const cancelled = when(running, cancels({ wake: W1, stopRunning: true }));
    expect(answerOf(cancelled)).toMatchObject({ running: turnOf(running).id, stopped: true });
    expect(cancelled.state.lastOutcome).toMatchObject({ outcome: 'aborted' });
    expect(effectsOf(cancelled, 'cancelCalls')).toHaveLength(1);
  });

  test('in the moment of the due time comes first', () => {
    const cancelled = inMs(withWakes({}), 60_000, cancels({ wake: W1 }));
    expect(cancelled.state).toMatchObject({ turn: null, queue: [], wakes: [] });
  });

  test('of an unknown wake answers which exist, waiting and running ones too', () => {
    const state = after(aSession(), schedules(ONCE), computed(60_000), timerFires);
    expect(answerOf(when(state, cancels({ wake: 'x' })))).toEqual({ kind: 'not_found', existing: [W1] });
    expect(answerOf(when(state, cancels('x')))).toMatchObject({ kind: 'refused' });
  });

  test('by a person keeps an agent from scheduling the key again, until a person does', () => {
    const agent = { by: { rank: 'agent' } };
    const again = (state: SessionState, over: object) =>
      when(after(state, schedules({ ...EVERY_MINUTE, key: 'k', ...over })), computed(60_000));
    const removed = after(withWakes({ key: 'k' }), cancels({ wake: 'k' }));
    expect((answerOf(again(removed, agent)) as { problems: string[] }).problems[0]).toMatch(/a person removed/);
    const restored = again(removed, {}).state;
    expect(restored.removedKeys).toEqual([]);
    const byAgent = after(restored, cancels({ wake: 'k', ...agent }));
    expect(answerOf(again(byAgent, agent))).toMatchObject({ kind: 'scheduled' });
  });

  test('forgets the oldest removed key beyond the limit, and says which', () => {
    const removedKeys = Array.from({ length: LIMITS.removedWakeKeys }, (_, n) => ({
      ...{ key: `old${n}`, rank: 'person' as const },
    }));
    const cancelled = when({ ...withWakes({ key: 'k' }), removedKeys }, cancels({ wake: 'k' }));
    expect(answerOf(cancelled)).toMatchObject({ forgottenKey: 'old0' });
    expect(cancelled.state.removedKeys).toHaveLength(LIMITS.removedWakeKeys);
  });
});

describe('a wake with another target', () => {
  const target = { kind: 'new', name: 'report-{due}' };
  const due = when(withWakes({ target }), timerFires);
  const key = `${W1}:${NOW_MS + 60_000}`;

  test('sends its prompt to that session, under the key of the occurrence', () => {
    expect(effectOf(due, 'startSession').input).toMatchObject({
      sessionId: 'acme/report-20260101T000100Z',
      agent: 'coder',
      message: { id: key, parts: [{}, { text: 'look' }] },
    });
    expect(due.state.turn).toBeNull();
    expect(
      effectOf(when(withWakes({ target: { ...target, agent: 'writer' } }), timerFires), 'startSession').input.agent,
    ).toBe('writer');
    const arrived = when(due.state, { kind: 'sessionStarted', key, problem: null });
    expect(toldBy(arrived)).toMatchObject([{ kind: 'WakeFired', sessionId: 'acme/report-20260101T000100Z' }]);
    expect(effectsOf(when(arrived.state, { kind: 'sessionStarted', key, problem: null }), 'record')).toEqual([]);
  });

  test('fires when it is due once', () => {
    const once = after(aSession(), schedules({ ...ONCE, target }), computed(60_000), recorded, timerFires);
    const arrived = when(once, { kind: 'sessionStarted', key, problem: null });
    expect(toldBy(arrived)).toMatchObject([{ kind: 'WakeFired', skipped: 0 }]);
  });

  test('counts a failure when it cannot', () => {
    const failed = when(due.state, { kind: 'sessionStarted', key, problem: 'no server' });
    expect(toldBy(failed)).toMatchObject([{ kind: 'WakeSkipped', reason: 'not_started' }]);
    expect(wakeOf(failed.state).counts).toMatchObject({ failures: 1 });
  });

  test('holds up continue-as-new while it is on its way', () => {
    const known = after(due.state, refill, recorded);
    expect(effectsOf(when(known, opened, { rollOverDue: true }), 'continueAsNew')).toEqual([]);
  });
});
