import { parseSessionId } from '../../protocol/limits.js';
import type { WakeAnswer, WakeSchedule, WakeTerms } from '../../protocol/wakes.js';
import { SessionError } from '../session-error.js';
import type { CancelWakeResult } from '../sessions.js';
import type { ConnectionFlags } from './connect.js';
import { withClient } from './connect.js';
import { USAGE_ERROR } from './exit-codes.js';
import { renderWake, underWay } from './render-wake.js';

/** Terms of a wake as flags give them; times in milliseconds. */
export interface WakeFlags extends ConnectionFlags {
  in?: number;
  at?: number;
  every?: number;
  cron?: string;
  zone?: string;
  prompt?: string;
  key?: string;
  expires?: number;
  missed?: 'fire_once' | 'skip';
  maxLateness?: number;
  jitter?: number;
  skipWhenActive?: number;
  channel?: string;
  /** A name, or `true` for the default one. */
  newSession?: string | true;
  enable?: true;
  agent?: string;
  json?: boolean;
}

/** Lists a session's wakes. */
export async function wakes(session: string, flags: ConnectionFlags & { json?: boolean }): Promise<number> {
  return withClient(flags, async (client) => {
    const listed = await client.wakes(session);
    if (flags.json) for (const wake of listed) process.stdout.write(`${JSON.stringify(wake)}\n`);
    else if (listed.length === 0) process.stderr.write(`${session} has no wakes\n`);
    else process.stdout.write(`${listed.map(renderWake).join('\n\n')}\n`);
    return 0;
  });
}

export async function addWake(session: string, flags: WakeFlags & { prompt: string }): Promise<number> {
  const schedule = toSchedule(flags);
  if (!schedule) throw new SessionError('invalid_input', 'say when: --in, --at, --every or --cron');
  const { prompt, key, agent } = flags;
  const input = { ...toTerms(session, flags), schedule, prompt, ...(key === undefined ? {} : { key }) };
  return withClient(flags, async (client) => {
    const answer = await client.scheduleWake(session, input, agent === undefined ? {} : { agent });
    return tellScheduled(answer, flags);
  });
}

export async function editWake(session: string, wake: string, flags: WakeFlags): Promise<number> {
  const schedule = toSchedule(flags);
  const { prompt, enable } = flags;
  const change = {
    ...{ wake, ...toTerms(session, flags) },
    ...(schedule ? { schedule } : {}),
    ...(prompt === undefined ? {} : { prompt }),
    ...(enable === undefined ? {} : { enable }),
  };
  if (Object.keys(change).length === 1) throw new SessionError('invalid_input', 'say what to change; see --help');
  return withClient(flags, async (client) => tellScheduled(await client.editWake(session, change), flags));
}

export async function cancelWake(
  session: string,
  wake: string,
  flags: ConnectionFlags & { stopRunning?: boolean; json?: boolean },
): Promise<number> {
  return withClient(flags, async (client) => {
    const answer = await client.cancelWake(session, { wake, stopRunning: flags.stopRunning === true });
    const { text, exitCode } = renderCancel(wake, answer);
    return tell({ answer, text, exitCode }, flags);
  });
}

/** The one of the four ways to say when; `null` when none was used. */
function toSchedule({ in: inMs, at: atMs, every: everyMs, cron: expression }: WakeFlags): WakeSchedule | null {
  const given: WakeSchedule[] = [
    ...(inMs === undefined ? [] : [{ kind: 'once', inMs } as const]),
    ...(atMs === undefined ? [] : [{ kind: 'once', atMs } as const]),
    ...(everyMs === undefined ? [] : [{ kind: 'interval', everyMs } as const]),
    ...(expression === undefined ? [] : [{ kind: 'cron', expression } as const]),
  ];
  if (given.length > 1) throw new SessionError('invalid_input', 'give one of --in, --at, --every and --cron, not more');
  return given[0] ?? null;
}

function toTerms(session: string, flags: WakeFlags): WakeTerms {
  const { zone, expires, missed, maxLateness, jitter, skipWhenActive, channel, newSession } = flags;
  const given: { [Term in keyof WakeTerms]: WakeTerms[Term] | undefined } = {
    zone,
    missed,
    channel,
    expiresAtMs: expires,
    maxLatenessMs: maxLateness,
    jitterMs: jitter,
    skipWhenActiveMs: skipWhenActive,
    target: newSession === undefined ? undefined : { kind: 'new', name: targetName(session, newSession) },
  };
  return Object.fromEntries(Object.entries(given).filter(([, term]) => term !== undefined));
}

function targetName(session: string, name: string | true): string {
  if (name !== true) return name;
  const parsed = parseSessionId(session);
  if ('problem' in parsed) throw new SessionError('invalid_input', parsed.problem);
  return `${parsed.name}-{due}`;
}

interface Told {
  answer: WakeAnswer | CancelWakeResult;
  text: string;
  exitCode: number;
}

function tellScheduled(answer: WakeAnswer, flags: { json?: boolean }): number {
  if (answer.kind === 'scheduled') {
    const text = `${answer.replaced ? 'changed' : 'scheduled'}\n${renderWake(answer.wake)}`;
    return tell({ answer, text, exitCode: 0 }, flags);
  }
  const text = answer.kind === 'refused' ? answer.problems.join('\n') : renderNotFound(answer.existing);
  return tell({ answer, text, exitCode: USAGE_ERROR }, flags);
}

function renderCancel(wake: string, answer: CancelWakeResult): { text: string; exitCode: number } {
  switch (answer.kind) {
    case 'cancelled': {
      const waited = answer.waiting ? '; what waited of it was withdrawn' : '';
      return { text: `cancelled wake ${answer.wakeId}${waited}${underWay(answer)}`, exitCode: 0 };
    }
    case 'kept': {
      const text = `no worker answers: the cancel of ${wake} is kept, and done before anything that is due`;
      return { text, exitCode: 0 };
    }
    case 'refused':
      return { text: answer.problems.join('\n'), exitCode: USAGE_ERROR };
    case 'not_found':
      return { text: renderNotFound(answer.existing), exitCode: USAGE_ERROR };
  }
}

function renderNotFound(existing: string[]): string {
  return `there is no such wake; ${existing.length === 0 ? 'the session has none' : `there are: ${existing.join(', ')}`}`;
}

/** What was done goes to standard output, what was not to standard error; as JSON, always to standard output. */
function tell({ answer, text, exitCode }: Told, { json }: { json?: boolean }): number {
  if (json) process.stdout.write(`${JSON.stringify(answer)}\n`);
  else if (exitCode === 0) process.stdout.write(`${text}\n`);
  else process.stderr.write(`vigil: ${text}\n`);
  return exitCode;
}
