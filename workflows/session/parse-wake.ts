import { CHANNEL_NAME_RULE, isChannelName } from '../../protocol/channels.js';
import { LIMITS, parseSessionId } from '../../protocol/limits.js';
import type { Reference, StoredTextPart, TextPart } from '../../protocol/messages.js';
import type { TimedSchedule, WakeActor, WakeTarget } from '../../protocol/wakes.js';
import { isBlobReference, utf8Length } from './parse-message.js';
import type { WakeSettings } from './state.js';

/**
 * Reads requests about wakes that anyone may have sent. Collects every problem, each with what to do about it; never throws.
 */

type Fields = Record<string, unknown>;

/** The terms that were given, and nothing else; `zone` by name only, the worker knows zones. */
export type GivenTerms = Partial<WakeSettings>;

export interface Reading {
  fields: Fields;
  problems: string[];
}

export function readFields(input: unknown): Reading {
  if (isRecord(input)) return { fields: input, problems: [] };
  return { fields: {}, problems: ['the request must be an object'] };
}

export function readActor({ fields: { by }, problems }: Reading): Required<WakeActor> {
  const actor = by ?? {};
  if (!isRecord(actor)) return refused(problems, '"by" must be an object like {"rank":"agent","name":"coder"}', PERSON);
  const { rank = 'person', name = rank } = actor;
  if (rank !== 'agent' && rank !== 'person') return refused(problems, '"by.rank" must be "agent" or "person"', PERSON);
  if (!isWord(name)) return refused(problems, `"by.name" must have 1 to ${LIMITS.wakeWordChars} characters`, PERSON);
  return { rank, name };
}

const PERSON: Required<WakeActor> = { rank: 'person', name: 'person' };

/** An id or a key. */
export function readName({ fields, problems }: Reading, field: 'wake' | 'key'): string {
  const name = fields[field];
  if (typeof name === 'string' && name.length > 0 && name.length <= LIMITS.idChars) return name;
  return refused(problems, `"${field}" must have 1 to ${LIMITS.idChars} characters`, '');
}

/** `nowMs` anchors what is relative to now. */
export function readTerms(reading: Reading, sessionId: string, nowMs: number): GivenTerms {
  const { fields, problems } = reading;
  const terms: GivenTerms = {};
  const given = (field: string): boolean => fields[field] !== undefined;
  if (given('schedule')) terms.schedule = readSchedule(fields['schedule'], nowMs, problems);
  if (given('prompt')) terms.prompt = readPrompt(fields['prompt'], LIMITS.wakePromptBytes, problems);
  if (given('zone')) terms.zone = isWord(fields['zone']) ? fields['zone'] : refused(problems, BAD_ZONE, 'UTC');
  if (given('missed')) terms.missed = readMissed(fields['missed'], problems);
  if (given('target')) terms.target = readTarget(fields['target'], sessionId, problems);
  if (given('channel')) terms.channel = readChannel(fields['channel'], problems);
  if (given('jitterMs')) terms.jitterMs = readNumber(reading, 'jitterMs', [0, LIMITS.wakeJitterMs]);
  if (given('maxLatenessMs')) terms.maxLatenessMs = readNumber(reading, 'maxLatenessMs', [0, LIMITS.wakeHorizonMs]);
  if (given('skipWhenActiveMs')) {
    terms.skipWhenActiveMs = readNumber(reading, 'skipWhenActiveMs', [0, LIMITS.wakeHorizonMs]);
  }
  if (given('expiresAtMs')) {
    terms.expiresAtMs = readNumber(reading, 'expiresAtMs', [nowMs + 1, nowMs + LIMITS.wakeHorizonMs]);
  }
  return terms;
}

function readChannel(value: unknown, problems: string[]): string {
  return isChannelName(value) ? value : refused(problems, `"channel" ${CHANNEL_NAME_RULE}`, '');
}

const BAD_ZONE = '"zone" must be the IANA name of a time zone, like "Europe/Paris"';

function readNumber({ fields, problems }: Reading, field: string, [low, high]: [number, number]): number {
  const value = fields[field];
  if (isWhole(value) && value >= low && value <= high) return value;
  return refused(problems, `"${field}" must be a whole number from ${low} to ${high}`, low);
}

function readMissed(value: unknown, problems: string[]): WakeSettings['missed'] {
  if (value === 'fire_once' || value === 'skip') return value;
  return refused(problems, '"missed" must be "fire_once" or "skip"', 'fire_once');
}

function readSchedule(value: unknown, nowMs: number, problems: string[]): TimedSchedule {
  const fields = isRecord(value) ? value : {};
  switch (fields['kind']) {
    case 'once':
      return readOnce(fields, nowMs, problems);
    case 'interval':
      return readInterval(fields, nowMs, problems);
    case 'cron': {
      const { expression } = fields;
      if (isWord(expression)) return { kind: 'cron', expression };
      return refused(problems, 'a cron schedule needs "expression", like "0 9 * * 1-5"', NEVER);
    }
    default:
      return refused(problems, '"schedule" must be of kind "once", "interval" or "cron"', NEVER);
  }
}

const NEVER: TimedSchedule = { kind: 'once', atMs: 0 };

function readOnce({ atMs, inMs }: Fields, nowMs: number, problems: string[]): TimedSchedule {
  if ((atMs === undefined) === (inMs === undefined)) {
    return refused(problems, 'a schedule of kind "once" needs "atMs" or "inMs", and not both', NEVER);
  }
  const due = inMs === undefined ? atMs : isWhole(inMs) ? nowMs + inMs : null;
  if (isWhole(due) && due > nowMs && due <= nowMs + LIMITS.wakeHorizonMs) return { kind: 'once', atMs: due };
  return refused(problems, `a wake must be due after now (${nowMs} ms) and within ten years`, NEVER);
}

function readInterval({ everyMs, startMs }: Fields, nowMs: number, problems: string[]): TimedSchedule {
  const start = startMs ?? nowMs;
  if (!isWhole(everyMs) || everyMs < LIMITS.wakeIntervalMs || everyMs > LIMITS.wakeHorizonMs) {
    return refused(problems, `"everyMs" must be at least ${LIMITS.wakeIntervalMs} ms, and at most ten years`, NEVER);
  }
  if (!isWhole(start) || Math.abs(start - nowMs) > LIMITS.wakeHorizonMs) {
    return refused(problems, '"startMs" must be an instant within ten years', NEVER);
  }
  return { kind: 'interval', everyMs, startMs: start };
}

/** A text, or a reference to a stored one. */
export function readPrompt(value: unknown, inlineBytes: number, problems: string[]): TextPart | StoredTextPart {
  const ref = isRecord(value) ? value['ref'] : undefined;
  if (isStored(ref)) return { kind: 'text', ref };
  if (typeof value !== 'string' || value.trim() === '') {
    return refused(problems, '"prompt" must be a text that is not empty, or {"ref":"blob:<sha256>"}', NO_PROMPT);
  }
  if (utf8Length(value) <= inlineBytes) return { kind: 'text', text: value };
  return refused(
    problems,
    `"prompt" has more than ${inlineBytes} bytes: store it first and give its reference`,
    NO_PROMPT,
  );
}

const NO_PROMPT: TextPart = { kind: 'text', text: '' };

const isStored = (ref: unknown): ref is Reference => typeof ref === 'string' && isBlobReference(ref);

function readTarget(value: unknown, sessionId: string, problems: string[]): WakeTarget {
  const fields = isRecord(value) ? value : {};
  if (fields['kind'] === 'this') return { kind: 'this' };
  const { name, agent } = fields;
  if (fields['kind'] !== 'new' || typeof name !== 'string') {
    return refused(problems, '"target" must be {"kind":"this"} or {"kind":"new","name":"report-{due}"}', THIS);
  }
  const target = toSessionId(sessionId, name, 0);
  if (name.includes('/') || 'problem' in parseSessionId(target) || target === sessionId) {
    return refused(problems, `"target.name" must make the name of another session, like "report-{due}"`, THIS);
  }
  if (agent !== undefined && (typeof agent !== 'string' || agent === '' || agent.length > LIMITS.agentNameChars)) {
    return refused(problems, `"target.agent" must have 1 to ${LIMITS.agentNameChars} characters`, THIS);
  }
  return { kind: 'new', name, ...(agent === undefined ? {} : { agent }) };
}

const THIS: WakeTarget = { kind: 'this' };

/** The session that an occurrence goes to, of the same tenant. */
export function toSessionId(sessionId: string, name: string, dueMs: number): string {
  const due = `${new Date(dueMs).toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`;
  return `${sessionId.slice(0, sessionId.indexOf('/'))}/${name.replaceAll('{due}', due)}`;
}

/** Notes a problem; `standIn` lets reading go on, so that all problems are said together. */
function refused<Value>(problems: string[], problem: string, standIn: Value): Value {
  problems.push(problem);
  return standIn;
}

export function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value);
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= LIMITS.wakeWordChars;
}

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
