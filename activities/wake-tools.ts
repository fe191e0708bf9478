import { z } from 'zod';
import { occurrenceOf, sourceOf } from '../protocol/fates.js';
import { LIMITS } from '../protocol/limits.js';
import { UPDATE } from '../protocol/names.js';
import type { SessionView } from '../protocol/view.js';
import type {
  CancelWakeAnswer,
  CancelWakeInput,
  Fire,
  ScheduleWakeInput,
  WakeAnswer,
  WakeSchedule,
  WakeView,
} from '../protocol/wakes.js';
import { ToolRefusal } from './activity-errors.js';
import type { ToolDefinition } from './agent.js';
import { askSession, viewSession } from './ask-session.js';
import { parseInstant } from './time-zone.js';

/**
 * The agent's side of wakes. Each tool may be repeated: a request carries the id of its tool call, and the session answers it once.
 */
export function createWakeTools(agent: string): ToolDefinition[] {
  return [scheduleWake(agent), LIST_WAKES, cancelWake(agent)];
}

export const isWakeTool = (name: string): boolean => ['schedule_wake', 'list_wakes', 'cancel_wake'].includes(name);

const WAKE_INPUT = z.object({
  prompt: z.string().describe('What you are told when it is due. Write it so that it can be understood alone.'),
  in_seconds: z.number().positive().optional().describe('Once, so many seconds from now.'),
  at: z
    .string()
    .optional()
    .describe('Once, at an instant like 2026-01-31T09:00:00+01:00; without an offset it is a local time in "zone".'),
  every_seconds: z
    .number()
    .positive()
    .optional()
    .describe(`Again and again, every so many seconds, at least ${LIMITS.wakeIntervalMs / 1_000}.`),
  cron: z
    .string()
    .optional()
    .describe('Again and again, by minute, hour, day of month, month, day of week: "0 9 * * 1-5".'),
  zone: z.string().optional().describe('IANA time zone, like Europe/Paris. Without it, a default that you are told.'),
  key: z.string().optional().describe('A name of your own: the same key replaces the wake that has it.'),
  expires_at: z.string().optional().describe('When a recurring wake ends, written like "at".'),
  skip_missed: z.boolean().optional().describe('True: a due time at which nothing could run is left out, not made up.'),
});

type GivenWake = z.output<typeof WAKE_INPUT>;

function scheduleWake(agent: string): ToolDefinition<typeof WAKE_INPUT> {
  return {
    name: 'schedule_wake',
    description:
      'Wakes you up later, once or again and again, in a turn of its own. Give exactly one of in_seconds, at, every_seconds, cron.',
    input: WAKE_INPUT,
    idempotent: true,
    async run(given, context) {
      const input: ScheduleWakeInput = { ...toWake(given), by: { rank: 'agent', name: agent } };
      const answer = await askSession<WakeAnswer>(UPDATE.scheduleWake, input, context);
      if (answer.kind === 'scheduled') return tellScheduled(answer, given.zone === undefined);
      throw new ToolRefusal(`Nothing was scheduled. ${problemsOf(answer)}`);
    },
  };
}

function toWake({ prompt, zone, key, expires_at, skip_missed, ...given }: GivenWake): ScheduleWakeInput {
  return {
    prompt,
    schedule: toSchedule({ ...given, zone }),
    ...(zone === undefined ? {} : { zone }),
    ...(key === undefined ? {} : { key }),
    ...(expires_at === undefined ? {} : { expiresAtMs: requireInstant('expires_at', expires_at, zone) }),
    ...(skip_missed === true ? { missed: 'skip' } : {}),
  };
}

function toSchedule({
  in_seconds,
  at,
  every_seconds,
  cron,
  zone,
}: Pick<GivenWake, 'in_seconds' | 'at' | 'every_seconds' | 'cron' | 'zone'>): WakeSchedule {
  const [schedule, ...others] = [
    ...(in_seconds === undefined ? [] : [{ kind: 'once', inMs: Math.round(in_seconds * 1_000) } as const]),
    ...(at === undefined ? [] : [{ kind: 'once', atMs: requireInstant('at', at, zone) } as const]),
    ...(every_seconds === undefined ? [] : [{ kind: 'interval', everyMs: Math.round(every_seconds * 1_000) } as const]),
    ...(cron === undefined ? [] : [{ kind: 'cron', expression: cron } as const]),
  ];
  if (schedule && others.length === 0) return schedule;
  throw new ToolRefusal('Nothing was scheduled. Give exactly one of in_seconds, at, every_seconds, cron.');
}

function requireInstant(field: string, text: string, zone: string | undefined): number {
  const instant = parseInstant(text, zone);
  if ('ms' in instant) return instant.ms;
  throw new ToolRefusal(`Nothing was scheduled. "${field}" ${instant.problem}.`);
}

function tellScheduled({ wake, replaced }: WakeAnswer & { kind: 'scheduled' }, isDefaultZone: boolean): string {
  const { id, schedule, zone, fires, kind } = wake;
  const told = [
    `${replaced ? 'Replaced' : 'Scheduled'} wake "${id}": ${schedule}.`,
    `Due ${kind === 'once' ? '' : 'next '}${timesOf(fires)}.`,
    `The time zone is ${zone}${isDefaultZone ? ', the default, because none was given' : ''}.`,
    `To end it, call cancel_wake with wake "${id}".`,
  ];
  return told.join(' ');
}

const timesOf = (fires: readonly Fire[]): string => fires.map(({ text }) => text).join('; ');

const LIST_WAKES: ToolDefinition = {
  name: 'list_wakes',
  description: 'Lists the wakes of this session, with their ids, what they are for and when they are due.',
  input: z.object({}),
  idempotent: true,
  run: async (_, context) => tellWakes(await viewSession(context)),
};

function tellWakes({ wakes, queue, turn }: SessionView): string {
  const ids = new Set(wakes.map(({ id }) => id));
  const places = [
    ...(turn ? [{ ...turn.source, place: 'its turn is this one, or runs now' }] : []),
    ...queue.map((item) => ({ ...sourceOf(item.id), place: 'it waits for its turn' })),
  ];
  const last = places.filter(({ kind, key }) => kind === 'wake' && !ids.has(occurrenceOf(key).id));
  const lines = [
    ...wakes.map(lineOf),
    ...last.map(({ key, place }) => `wake "${occurrenceOf(key).id}": has no further due time, ${place}`),
  ];
  return lines.length === 0 ? 'There are no wakes.' : lines.join('\n');
}

function lineOf({ id, key, schedule, zone, fires, reason, pending, createdBy, prompt }: WakeView): string {
  const due = reason === null ? `next due ${timesOf(fires)}` : `disabled: ${reason}`;
  const told = [
    `wake "${id}"${key === null ? '' : ` with the key "${key}"`}: ${schedule}, ${due}`,
    `time zone ${zone}`,
    `set by ${createdBy}`,
    ...(pending === null ? [] : ['one occurrence waits or runs now']),
    `it says: ${prompt}`,
  ];
  return told.join('; ');
}

const CANCEL_INPUT = z.object({ wake: z.string().describe('The id or the key of the wake, as list_wakes tells it.') });

function cancelWake(agent: string): ToolDefinition<typeof CANCEL_INPUT> {
  return {
    name: 'cancel_wake',
    description: 'Ends a wake for good: it is never due again, and what waits of it does not run.',
    input: CANCEL_INPUT,
    idempotent: true,
    async run({ wake }, context) {
      const input: CancelWakeInput = { wake, by: { rank: 'agent', name: agent } };
      const answer = await askSession<CancelWakeAnswer>(UPDATE.cancelWake, input, context);
      if (answer.kind === 'cancelled') return tellCancelled(answer);
      throw new ToolRefusal(`Nothing was cancelled. ${problemsOf(answer, wake)}`);
    },
  };
}

function tellCancelled({ wakeId, waiting, running }: CancelWakeAnswer & { kind: 'cancelled' }): string {
  const told = [
    `Cancelled wake "${wakeId}": it is never due again.`,
    ...(waiting ? ['The occurrence that waited was withdrawn.'] : []),
    ...(running === null ? [] : ['Its turn that runs now goes on to its end.']),
  ];
  return told.join(' ');
}

type Refused = Exclude<WakeAnswer | CancelWakeAnswer, { kind: 'scheduled' | 'cancelled' }>;

function problemsOf(answer: Refused, wake = ''): string {
  if (answer.kind === 'refused') return `${answer.problems.join('; ')}.`;
  const ids = answer.existing.map((id) => `"${id}"`);
  const existing = ids.length === 0 ? 'There are no wakes.' : `These exist: ${ids.join(', ')}.`;
  return `There is no wake "${wake.slice(0, LIMITS.idChars)}". ${existing}`;
}
