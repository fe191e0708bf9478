import { Cron } from 'croner';
import { LIMITS } from '../protocol/limits.js';
import type { ComputedFires, ComputeFiresInput, Fire, TimedSchedule } from '../protocol/wakes.js';
import { problemOfChannel } from './activity-errors.js';
import type { Dependencies } from './dependencies.js';
import { formatInstant, isZone, offsetMs, toInstantMs } from './time-zone.js';

/** What this worker is configured with. */
type Known = Pick<Dependencies, 'defaultZone' | 'channels'>;

/** Missed due times are counted one by one up to here. */
const MISSED_LIMIT = 1_000;

/**
 * The `computeFires` activity: next due times, by this host's time-zone data. Pure but for that data; never throws, because what cannot
 * be computed now cannot be computed by asking again.
 */
export function computeFires(input: ComputeFiresInput, { defaultZone, channels }: Known): ComputedFires {
  const { schedule, afterMs, count, missedSinceMs } = input;
  const zone = input.zone ?? defaultZone;
  if (!isZone(zone)) {
    return { kind: 'error', problem: `"${zone}" is not a time zone; give an IANA name like "Europe/Paris"` };
  }
  const problem = input.channel === undefined ? null : problemOfChannel(input.channel, channels);
  if (problem !== null) return { kind: 'error', problem };
  try {
    const horizonMs = afterMs + LIMITS.wakeHorizonMs;
    const next = dueTimes(schedule, zone, afterMs);
    const fires: Fire[] = [];
    for (let due = next(); due !== null && due <= horizonMs && fires.length < count; due = next()) {
      fires.push({ dueMs: due, text: formatInstant(due, zone) });
    }
    const missed = missedSinceMs === undefined ? 0 : countMissed(schedule, zone, missedSinceMs, afterMs);
    return { kind: 'computed', zone, fires, missed };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return {
      kind: 'error',
      problem: `the schedule cannot be read: ${message}; give five fields like "0 9 * * 1-5"`,
    };
  }
}

type DueTimes = () => number | null;

function countMissed(schedule: TimedSchedule, zone: string, sinceMs: number, untilMs: number): number {
  if (schedule.kind === 'interval') {
    const past = (ms: number) => Math.floor((ms - schedule.startMs) / schedule.everyMs);
    return past(untilMs) - past(sinceMs);
  }
  const next = dueTimes(schedule, zone, sinceMs);
  let missed = 0;
  for (let due = next(); due !== null && due <= untilMs && missed < MISSED_LIMIT; due = next()) missed += 1;
  return missed;
}

/** Due times strictly after an instant, strictly increasing. */
function dueTimes(schedule: TimedSchedule, zone: string, afterMs: number): DueTimes {
  switch (schedule.kind) {
    case 'once':
      return listed(schedule.atMs > afterMs ? [schedule.atMs] : []);
    case 'interval': {
      const { startMs, everyMs } = schedule;
      let due = startMs + Math.max(0, Math.floor((afterMs - startMs) / everyMs) + 1) * everyMs;
      return () => (due += everyMs) - everyMs;
    }
    case 'cron':
      return cronTimes(schedule.expression, zone, afterMs);
  }
}

function listed(instants: number[]): DueTimes {
  const left = [...instants];
  return () => left.shift() ?? null;
}

/**
 * An expression with `*` for the hour is left to croner, which follows the real clock. Of others croner drops every time of a step that
 * falls into a gap ("*\/15 2 * * *" on the day that has no 2 o'clock), so it is asked for local times only, which know no clock
 * changes, and those are placed on the real clock here.
 */
function cronTimes(expression: string, zone: string, afterMs: number): DueTimes {
  const fields = expression.trim().split(/\s+/);
  if (fields.length !== 5) throw new Error(`it has ${fields.length} fields`);
  const followsClock = fields[1] === '*';
  const cron = new Cron(expression, { timezone: followsClock ? zone : 'UTC' });
  let from = new Date(followsClock ? afterMs : afterMs + offsetMs(afterMs, zone));
  let lastMs = afterMs;
  return () => {
    for (;;) {
      const found = cron.nextRun(from);
      if (!found) return null;
      from = found;
      const dueMs = followsClock ? found.getTime() : toInstantMs(found.getTime(), zone);
      if (dueMs > lastMs) return (lastMs = dueMs);
    }
  };
}
