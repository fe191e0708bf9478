import { computeFires } from '../../activities/compute-fires.js';
import { LIMITS } from '../../protocol/limits.js';
import type { ComputedFires, TimedSchedule } from '../../protocol/wakes.js';

const KNOWN = { defaultZone: 'UTC', channels: new Set(['hook']) };

const at = (text: string): number => Date.parse(text);

function compute(schedule: TimedSchedule, zone: string | null, after: string, count = 3): ComputedFires {
  return computeFires({ schedule, zone, afterMs: at(after), count }, KNOWN);
}

/** The next instants of an expression, as UTC without seconds. */
function cron(expression: string, zone: string, after: string, count = 3): string[] {
  const computed = compute({ kind: 'cron', expression }, zone, after, count);
  if (computed.kind === 'error') throw new Error(computed.problem);
  return computed.fires.map(({ dueMs }) => new Date(dueMs).toISOString().slice(0, 16));
}

describe('a cron schedule', () => {
  // The expected instants are written by hand, from the clock changes of 2026.
  test.each<[what: string, zone: string, expression: string, after: string, expected: string[]]>([
    // Paris: 29 March 01:00Z from +1 to +2, 25 October 01:00Z back.
    [
      'takes the end of a gap',
      'Europe/Paris',
      '30 2 * * *',
      '2026-03-28T02:00Z',
      ['2026-03-29T01:00', '2026-03-30T00:30'],
    ],
    [
      'fires once in a gap',
      'Europe/Paris',
      '*/15 2 * * *',
      '2026-03-29T00:00Z',
      ['2026-03-29T01:00', '2026-03-30T00:00'],
    ],
    [
      'takes a gap and what follows it once',
      'Europe/Paris',
      '30 2,3 * * *',
      '2026-03-29T00:00Z',
      ['2026-03-29T01:00', '2026-03-29T01:30'],
    ],
    [
      'takes the first of two',
      'Europe/Paris',
      '30 2 * * *',
      '2026-10-24T12:00Z',
      ['2026-10-25T00:30', '2026-10-26T01:30'],
    ],
    ['does not take the second', 'Europe/Paris', '30 2 * * *', '2026-10-25T00:30Z', ['2026-10-26T01:30']],
    [
      'does not take the second, asked in between',
      'Europe/Paris',
      '30 2 * * *',
      '2026-10-25T01:10Z',
      ['2026-10-26T01:30'],
    ],
    [
      'steps through the first of two hours only',
      'Europe/Paris',
      '*/30 2 * * *',
      '2026-10-24T23:00Z',
      ['2026-10-25T00:00', '2026-10-25T00:30', '2026-10-26T01:00'],
    ],
    [
      'with every hour follows the clock',
      'Europe/Paris',
      '*/30 * * * *',
      '2026-10-25T00:00Z',
      ['2026-10-25T00:30', '2026-10-25T01:00', '2026-10-25T01:30', '2026-10-25T02:00'],
    ],
    [
      'with every hour follows the clock over a gap',
      'Europe/Paris',
      '*/30 * * * *',
      '2026-03-29T00:15Z',
      ['2026-03-29T00:30', '2026-03-29T01:00', '2026-03-29T01:30'],
    ],
    [
      'once an hour follows the clock',
      'Europe/Paris',
      '10 * * * *',
      '2026-10-25T00:00Z',
      ['2026-10-25T00:10', '2026-10-25T01:10', '2026-10-25T02:10'],
    ],
    // New York: 8 March 07:00Z from -5 to -4, 1 November 06:00Z back.
    [
      'takes the end of a gap',
      'America/New_York',
      '30 2 * * *',
      '2026-03-07T12:00Z',
      ['2026-03-08T07:00', '2026-03-09T06:30'],
    ],
    [
      'takes the first of two',
      'America/New_York',
      '30 1 * * *',
      '2026-10-31T12:00Z',
      ['2026-11-01T05:30', '2026-11-02T06:30'],
    ],
    // Lord Howe: 4 April 15:00Z from +11 to +10:30, 3 October 15:30Z back: half an hour.
    [
      'takes the end of a gap of half an hour',
      'Australia/Lord_Howe',
      '15 2 * * *',
      '2026-10-03T00:00Z',
      ['2026-10-03T15:30', '2026-10-04T15:15'],
    ],
    [
      'takes the first of two half hours',
      'Australia/Lord_Howe',
      '45 1 * * *',
      '2026-04-04T00:00Z',
      ['2026-04-04T14:45', '2026-04-05T15:15'],
    ],
    [
      'follows the clock over half an hour',
      'Australia/Lord_Howe',
      '*/20 * * * *',
      '2026-04-04T14:35Z',
      ['2026-04-04T14:40', '2026-04-04T15:10', '2026-04-04T15:30'],
    ],
    // Kathmandu: +5:45, no changes.
    [
      'knows quarters of an hour',
      'Asia/Kathmandu',
      '0 9 * * *',
      '2026-01-01T00:00Z',
      ['2026-01-01T03:15', '2026-01-02T03:15'],
    ],
    ['waits for a leap year', 'UTC', '0 0 29 2 *', '2026-01-01T00:00Z', ['2028-02-29T00:00', '2032-02-29T00:00']],
    [
      'leaves out months without the day',
      'UTC',
      '0 0 31 * *',
      '2026-01-31T00:00Z',
      ['2026-03-31T00:00', '2026-05-31T00:00'],
    ],
    [
      'takes a day of the month or a weekday',
      'UTC',
      '0 9 15 * 1',
      '2026-01-08T00:00Z',
      ['2026-01-12T09:00', '2026-01-15T09:00', '2026-01-19T09:00'],
    ],
    [
      'goes beyond 2038',
      'America/New_York',
      '0 9 1 7 *',
      '2038-02-01T00:00Z',
      ['2038-07-01T13:00', '2039-07-01T13:00'],
    ],
    ['is strictly later than the instant asked about', 'UTC', '0 9 * * *', '2026-01-01T09:00Z', ['2026-01-02T09:00']],
    ['is strictly later within the second', 'UTC', '0 9 * * *', '2026-01-01T09:00:00.500Z', ['2026-01-02T09:00']],
  ])('%s (%s, %s, after %s)', (_, zone, expression, after, expected) => {
    expect(cron(expression, zone, after, expected.length)).toEqual(expected);
  });

  test.each([
    ['three words', 'every 5 minutes'],
    ['six fields', '0 0 9 * * *'],
    ['a nickname', '@daily'],
    ['an instant', '2026-05-05T10:00:00'],
    ['a minute that does not exist', '61 * * * *'],
  ])('of %s is refused', (_, expression) => {
    const answer = compute({ kind: 'cron', expression }, 'UTC', '2026-01-01T00:00Z');
    expect(answer).toMatchObject({ kind: 'error', problem: expect.stringContaining('five fields') as string });
  });

  test('that is never due has no due times', () => {
    const answer = compute({ kind: 'cron', expression: '0 0 30 2 *' }, 'UTC', '2026-01-01T00:00Z');
    expect(answer).toMatchObject({ kind: 'computed', fires: [] });
  });
});

describe('a zone', () => {
  test('that does not exist is refused by name', () => {
    const answer = compute({ kind: 'cron', expression: '0 9 * * *' }, 'Mars/Base', '2026-01-01T00:00Z');
    expect(answer).toMatchObject({ kind: 'error', problem: expect.stringContaining('"Mars/Base"') as string });
  });

  test('that is missing is the default, and echoed', () => {
    const input = { schedule: { kind: 'cron', expression: '0 9 * * *' }, zone: null, afterMs: 0, count: 1 } as const;
    expect(computeFires(input, { ...KNOWN, defaultZone: 'Asia/Kathmandu' })).toMatchObject({
      zone: 'Asia/Kathmandu',
      fires: [{ dueMs: 12_600_000 }],
    });
  });

  test.each([
    ['2026-10-25T00:30Z', 'Europe/Paris', 'Sun 2026-10-25 02:30 +02:00 Europe/Paris'],
    ['2026-10-25T01:30Z', 'Europe/Paris', 'Sun 2026-10-25 02:30 +01:00 Europe/Paris'],
    ['2026-01-01T04:00:07Z', 'America/New_York', 'Wed 2025-12-31 23:00:07 -05:00 America/New_York'],
    ['2026-01-01T00:00Z', 'Asia/Kathmandu', 'Thu 2026-01-01 05:45 +05:45 Asia/Kathmandu'],
  ])('tells %s apart as %s reads it', (instant, zone, text) => {
    const answer = compute({ kind: 'once', atMs: at(instant) }, zone, '2025-01-01T00:00Z');
    expect(answer).toMatchObject({ fires: [{ dueMs: at(instant), text }] });
  });
});

describe('other schedules', () => {
  test('an interval keeps its start, whenever it is asked', () => {
    const schedule = { kind: 'interval', everyMs: 10_000, startMs: 3_000 } as const;
    const dueAfter = (afterMs: number) => {
      const answer = computeFires({ schedule, zone: null, afterMs, count: 2 }, KNOWN);
      return answer.kind === 'computed' ? answer.fires.map(({ dueMs }) => dueMs) : [];
    };
    expect(dueAfter(0)).toEqual([3_000, 13_000]);
    expect(dueAfter(3_000)).toEqual([13_000, 23_000]);
    expect(dueAfter(12_999)).toEqual([13_000, 23_000]);
  });

  test('once is due once, and not when it is over', () => {
    expect(compute({ kind: 'once', atMs: 5 }, null, '1970-01-01T00:00Z')).toMatchObject({ fires: [{ dueMs: 5 }] });
    expect(compute({ kind: 'once', atMs: -5 }, null, '1970-01-01T00:00Z')).toMatchObject({ fires: [] });
  });

  test('nothing is due beyond the horizon', () => {
    const answer = compute({ kind: 'once', atMs: LIMITS.wakeHorizonMs + 1 }, null, '1970-01-01T00:00Z');
    expect(answer).toMatchObject({ kind: 'computed', fires: [] });
  });

  test.each<[TimedSchedule, number]>([
    [{ kind: 'interval', everyMs: 1_000, startMs: 0 }, 60],
    [{ kind: 'cron', expression: '* * * * *' }, 1],
    [{ kind: 'once', atMs: 5 }, 0],
  ])('due times that were missed are counted (%j)', (schedule, missed) => {
    const input = { schedule, zone: 'UTC', afterMs: 60_000, count: 1, missedSinceMs: 5 };
    expect(computeFires(input, KNOWN)).toMatchObject({ missed });
  });
});
