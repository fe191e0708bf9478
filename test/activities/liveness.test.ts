import { jest } from '@jest/globals';
import { Liveness } from '../../activities/liveness.js';
import type { Phase, PhaseBudgets } from '../../protocol/liveness.js';

const T = 10_000;
const GAP = 1_000;
const BUDGETS: PhaseBudgets = {
  setup: T,
  connect: T,
  prefill: 3 * T,
  reasoning: 3 * T,
  thinkingGap: 3 * T,
  streaming: T,
  finish: T,
};

/** Where the clock stands when a try begins; everything below is told from there. */
const START = 1_000_000;

beforeEach(() => {
  jest.useFakeTimers({ now: START });
});
afterEach(() => {
  jest.useRealTimers();
});

interface Watched {
  liveness: Liveness;
  /** When beats were sent, in milliseconds since the try began. */
  beats: number[];
  warnings: { atMs: number; phase: Phase; silentMs: number; budgetMs: number }[];
}

function watched(over: Partial<PhaseBudgets> = {}): Watched {
  const startMs = performance.now();
  const now = () => Math.round(performance.now() - startMs);
  const beats: number[] = [];
  const warnings: Watched['warnings'] = [];
  const liveness = new Liveness({
    budgetsMs: { ...BUDGETS, ...over },
    beat: () => void beats.push(now()),
    warn: (stall) => void warnings.push({ atMs: now(), ...stall }),
  });
  return { liveness, beats, warnings };
}

const pass = (ms: number) => jest.advanceTimersByTime(ms);

/** Silence that begins now: when does the server give up, in milliseconds from now? Its clock runs from the last beat. */
function silenceEndsAfter({ beats }: Watched, timeoutMs = T): number {
  const before = performance.now();
  const already = beats.length;
  const sinceLast = () => performance.now() - before;
  let lastBeat = 0;
  for (let seen = already; sinceLast() - lastBeat < timeoutMs;) {
    pass(10);
    if (beats.length > seen) [seen, lastBeat] = [beats.length, sinceLast()];
  }
  return sinceLast();
}

const gapsBetween = (times: number[]) => times.slice(1).map((time, index) => time - times[index]!);

describe('in the streaming phase', () => {
  test('only progress beats', () => {
    const { liveness, beats } = watched();
    liveness.enter('streaming');
    pass(GAP);
    expect(beats).toEqual([GAP]);
    pass(10 * T);
    expect(beats).toEqual([GAP]);
    liveness.received(5);
    pass(0);
    expect(beats).toEqual([GAP, GAP + 10 * T]);
  });

  test('a stream of tokens beats once a gap, and its last token is not forgotten', () => {
    const { liveness, beats } = watched();
    liveness.enter('streaming');
    for (let index = 0; index < 350; index++) {
      liveness.received(3);
      pass(10);
    }
    pass(10 * T);
    expect(beats).toEqual([GAP, 2 * GAP, 3 * GAP, 4 * GAP]);
  });

  test('silence ends no earlier than T after the last token, and within a gap of it', () => {
    for (const before of [0, 1, 500, 999, 1_000, 1_001, 2_345]) {
      const each = watched();
      each.liveness.enter('streaming');
      pass(before);
      each.liveness.received(1);
      const after = silenceEndsAfter(each);
      expect(after).toBeGreaterThanOrEqual(T);
      expect(after).toBeLessThanOrEqual(T + GAP + 20);
      each.liveness.stop();
    }
  });

  test('tokens at 90 % of T keep the try alive', () => {
    const { liveness, beats } = watched();
    liveness.enter('streaming');
    for (let index = 0; index < 40; index++) {
      pass(0.9 * T);
      liveness.received(1);
    }
    pass(GAP);
    expect(Math.max(...gapsBetween([0, ...beats]))).toBeLessThan(T);
  });

  test('a switch without content ends the vouching of the phase before', () => {
    const each = watched();
    each.liveness.enter('prefill');
    pass(5 * GAP);
    each.liveness.switchTo('streaming');
    const sent = each.beats.length;
    pass(5 * T);
    expect(each.beats.length).toBe(sent);
  });

  test('progress made just before a switch is still told, when the gap is over', () => {
    const { liveness, beats } = watched();
    liveness.enter('prefill');
    pass(GAP); // the first beat
    pass(100);
    liveness.enter('reasoning');
    liveness.switchTo('streaming');
    pass(5 * T);
    expect(beats).toEqual([GAP, 2 * GAP]);
  });
});

describe('in any other phase', () => {
  test.each(['prefill', 'reasoning', 'thinkingGap'] as const)('silence of %s ends with its budget', (phase) => {
    const each = watched();
    pass(1_234);
    each.liveness.enter(phase);
    const after = silenceEndsAfter(each);
    expect(after).toBeGreaterThanOrEqual(3 * T);
    expect(after).toBeLessThanOrEqual(3 * T + GAP);
  });

  test('the last beat goes out exactly at the budget less T', () => {
    for (const budget of [T + 1, T + 400, T + 1_500, 2 * T + 17, 3 * T]) {
      const each = watched({ prefill: budget });
      pass(GAP);
      each.liveness.enter('prefill');
      const startedMs = GAP;
      pass(10 * T);
      const due = startedMs + budget - T;
      expect(each.beats.at(-1)).toBe(Math.max(due, GAP));
      each.liveness.stop();
    }
  });

  test('a phase whose budget is T is not vouched for', () => {
    const { liveness, beats } = watched();
    pass(10);
    liveness.enter('connect');
    pass(10 * T);
    expect(beats).toEqual([GAP]); // the progress itself, when the first gap is over
  });

  test('a try that stays in its first phase sends nothing when that may last for T', () => {
    const { beats } = watched();
    pass(10 * T);
    expect(beats).toEqual([]);
  });

  test('a call at 90 % of its budget is never without a beat for T', () => {
    const { liveness, beats } = watched();
    liveness.enter('prefill');
    pass(0.9 * 3 * T);
    liveness.received(1);
    pass(GAP);
    expect(Math.max(...gapsBetween([0, ...beats, 0.9 * 3 * T]))).toBeLessThan(T);
  });

  test('a switch to it without content vouches from the last content on, not from the switch', () => {
    const each = watched();
    each.liveness.enter('streaming');
    pass(5 * GAP);
    each.liveness.received(1);
    pass(T / 2);
    each.liveness.switchTo('thinkingGap');
    const after = T / 2 + silenceEndsAfter(each);
    expect(after).toBeGreaterThanOrEqual(3 * T);
    expect(after).toBeLessThanOrEqual(3 * T + GAP);
  });

  test('a switch to a longer phase brings the next beat forward', () => {
    const { liveness, beats } = watched();
    pass(GAP);
    liveness.enter('connect');
    pass(2 * GAP); // connect may last T, so the next beat would never come
    liveness.switchTo('prefill');
    pass(0);
    expect(beats).toEqual([GAP, 3 * GAP]);
  });

  test('a switch to a shorter phase takes the next beat back', () => {
    const { liveness, beats } = watched();
    pass(GAP);
    liveness.enter('prefill');
    pass(100);
    liveness.switchTo('connect');
    pass(10 * T);
    expect(beats).toEqual([GAP]);
  });
});

describe('between two beats', () => {
  test('lies at least the gap, whatever happens', () => {
    const phases: Phase[] = ['setup', 'connect', 'prefill', 'reasoning', 'thinkingGap', 'streaming', 'finish'];
    let seed = 42;
    const random = (below: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
    const { liveness, beats } = watched({ prefill: T + 700, reasoning: 2 * T + 1_300 });
    for (let step = 0; step < 3_000; step++) {
      const phase = phases[random(phases.length)]!;
      [() => liveness.enter(phase), () => liveness.switchTo(phase), () => liveness.received(random(3))][random(3)]!();
      pass(random(900));
    }
    expect(beats.length).toBeGreaterThan(100);
    expect(Math.min(...gapsBetween([0, ...beats]))).toBeGreaterThanOrEqual(GAP);
  });

  test('lies a twentieth of a long T', () => {
    const { liveness, beats } = watched({ streaming: 60_000, prefill: 180_000 });
    liveness.enter('prefill');
    pass(10_000);
    expect(beats).toEqual([3_000, 6_000, 9_000]);
  });

  test('lies so little of a short T that slow tokens survive it', () => {
    const short = Object.fromEntries(Object.keys(BUDGETS).map((phase) => [phase, 1_000])) as Record<Phase, number>;
    const { liveness, beats } = watched(short);
    liveness.enter('streaming');
    for (let index = 0; index < 20; index++) {
      pass(900);
      liveness.received(1);
    }
    pass(900);
    expect(Math.max(...gapsBetween([0, ...beats]))).toBeLessThan(1_000);
  });
});

test('no beat is sent in the first gap of a try', () => {
  const { liveness, beats } = watched();
  for (const phase of ['setup', 'connect', 'prefill', 'reasoning', 'streaming', 'finish'] as const) {
    liveness.enter(phase);
    liveness.received(7);
    pass(100);
  }
  expect(beats).toEqual([]);
  pass(GAP - 600);
  expect(beats).toEqual([GAP]);
});

test('an empty delta moves nothing', () => {
  const each = watched();
  each.liveness.enter('streaming');
  pass(GAP);
  const { atMs } = each.liveness.progress;
  pass(GAP);
  each.liveness.received(0);
  pass(5 * T);
  expect(each.liveness.progress).toMatchObject({ phase: 'streaming', atMs, charsReceived: 0, firstTokenMs: null });
  expect(each.beats).toEqual([GAP]);
});

test('progress tells the phase, the time and the characters', () => {
  const { liveness } = watched();
  pass(2_000);
  liveness.enter('streaming');
  liveness.received(5);
  liveness.received(6);
  pass(500);
  expect(liveness.progress).toEqual({
    phase: 'streaming',
    atMs: START + 2_000,
    charsReceived: 11,
    firstTokenMs: null,
    budgetMs: T,
  });
});

describe('a warning', () => {
  test('comes once a silence, at 60 % of the budget', () => {
    const { liveness, warnings } = watched();
    liveness.enter('streaming');
    pass(5 * T);
    expect(warnings).toEqual([{ atMs: 6_000, phase: 'streaming', silentMs: 6_000, budgetMs: T }]);
    liveness.received(1);
    pass(5 * T);
    expect(warnings.map((warning) => warning.atMs)).toEqual([6_000, 5 * T + 6_000]);
  });

  test('goes by the budget of the phase that the silence is in', () => {
    const { liveness, warnings } = watched();
    liveness.enter('prefill');
    pass(1.7 * T);
    expect(warnings).toEqual([]);
    pass(0.2 * T);
    expect(warnings).toMatchObject([{ phase: 'prefill', budgetMs: 3 * T, atMs: 1.8 * T }]);
  });

  test('is not repeated when only the phase changes', () => {
    const { liveness, warnings } = watched();
    liveness.enter('streaming');
    pass(0.7 * T);
    liveness.switchTo('thinkingGap');
    pass(3 * T);
    expect(warnings).toHaveLength(1);
  });

  test('does not come after the try has ended', () => {
    const { liveness, warnings } = watched();
    liveness.stop();
    pass(10 * T);
    expect(warnings).toEqual([]);
  });
});

describe('an event loop that was busy', () => {
  let lostMs = 0;
  beforeEach(() => {
    lostMs = 0;
    const ticking = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => ticking() + lostMs);
  });
  afterEach(() => void jest.restoreAllMocks());

  /** Time passes and no timer fires; those that came due fire late. */
  const stuckFor = (ms: number) => (lostMs += ms);

  test('sends the beat that it held up, and goes on', () => {
    const { liveness, beats } = watched();
    liveness.enter('prefill');
    pass(900);
    stuckFor(3_000);
    pass(1_100);
    expect(beats).toEqual([4_000, 5_000]);
  });

  test('sends the last beat that it held up, and no other after it', () => {
    const { liveness, beats } = watched({ prefill: 2 * T });
    liveness.enter('prefill');
    pass(T - 100);
    stuckFor(3_000);
    pass(10 * T);
    expect(beats.slice(-2)).toEqual([T - GAP, T + 3_000]);
  });

  test('does not warn of a silence that was its own, unless it lasts', () => {
    const { liveness, warnings } = watched();
    liveness.enter('streaming');
    pass(2_900);
    stuckFor(3_500);
    pass(200);
    expect(warnings).toEqual([]);
    liveness.received(1);
    pass(3_000);
    expect(warnings).toEqual([]);
    pass(4_000);
    expect(warnings).toHaveLength(1);
  });
});

test('a timer that fires a fraction of a millisecond early does not make another beat the last one', () => {
  const ticking = performance.now.bind(performance);
  let fractionMs = 0.9;
  jest.spyOn(performance, 'now').mockImplementation(() => ticking() + fractionMs);
  const { liveness, beats } = watched({ prefill: T + 1_500 });
  liveness.enter('prefill');
  fractionMs = 0.4;
  pass(10 * T);
  expect(beats).toHaveLength(1);
  jest.restoreAllMocks();
});

test('a clock that is set back or forth moves nothing', () => {
  const { liveness, beats, warnings } = watched();
  liveness.enter('prefill');
  jest.setSystemTime(START - 3_600_000);
  pass(GAP);
  jest.setSystemTime(START + 3_600_000);
  pass(GAP);
  expect(beats).toEqual([GAP, 2 * GAP]);
  expect(warnings).toEqual([]);
});

test('nothing is sent after the end, whatever still arrives', () => {
  const { liveness, beats } = watched();
  liveness.enter('prefill');
  liveness.stop();
  liveness.enter('streaming');
  liveness.received(10);
  liveness.switchTo('reasoning');
  pass(10 * T);
  expect(beats).toEqual([]);
  expect(jest.getTimerCount()).toBe(0);
});
