import type { DrainAnswer, UndrainAnswer } from '../../protocol/session-input.js';
import { SessionError } from '../session-error.js';
import type { SessionClient } from '../sessions.js';
import { withClient, type ConnectionFlags } from './connect.js';
import { exitCodeOfError, USAGE_ERROR } from './exit-codes.js';

type DrainFlags = ConnectionFlags & { all?: boolean; json?: boolean };

/** Sessions asked at the same time: many more only wait for each other on the server. */
const ASKED_AT_ONCE = 20;

export function drain(session: string | undefined, flags: DrainFlags): Promise<number> {
  return forEach(session, flags, async (client, id) => {
    const answer = await client.drain(id);
    return { answer, line: `${id}: ${renderDrain(answer)}` };
  });
}

export function undrain(session: string | undefined, flags: DrainFlags): Promise<number> {
  return forEach(session, flags, async (client, id) => {
    const answer = await client.undrain(id);
    return { answer, line: `${id}: ${renderUndrain(answer)}` };
  });
}

function renderDrain({ kind, turnId, queued }: DrainAnswer): string {
  const already = kind === 'already_draining' ? ' already' : '';
  const running = turnId === null ? 'nothing runs' : `turn ${turnId} still runs`;
  return `drains${already}; ${running}, ${queued} waiting`;
}

function renderUndrain({ kind, next }: UndrainAnswer): string {
  if (kind === 'not_draining') return 'does not drain';
  return `takes up work again${next === null ? '' : `; message ${next} runs next`}`;
}

type Ask = (client: SessionClient, session: string) => Promise<{ answer: object; line: string }>;

/** One session, or every running one. Of many, one that does not answer holds up no other; the exit code is then that of the last. */
async function forEach(session: string | undefined, flags: DrainFlags, ask: Ask): Promise<number> {
  if ((session === undefined) === (flags.all !== true)) {
    process.stderr.write('vigil: name a session, or give --all for every running one\n');
    return USAGE_ERROR;
  }
  return withClient(flags, async (client) => {
    const tell = async (id: string) => {
      const { answer, line } = await ask(client, id);
      process.stdout.write(flags.json ? `${JSON.stringify({ session: id, ...answer })}\n` : `${line}\n`);
    };
    if (session !== undefined) {
      await tell(session);
      return 0;
    }
    return tellAll(client, tell);
  });
}

async function tellAll(client: SessionClient, tell: (id: string) => Promise<void>): Promise<number> {
  const sessions = client.runningSessions();
  let exitCode = 0;
  const work = async () => {
    // The generator hands each session to one of the workers.
    for (let next = await sessions.next(); !next.done; next = await sessions.next()) {
      try {
        await tell(next.value);
      } catch (error) {
        if (!(error instanceof SessionError)) throw error;
        process.stderr.write(`vigil: ${next.value}: ${error.message}\n`);
        exitCode = exitCodeOfError(error.code);
      }
    }
  };
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, work));
  return exitCode;
}
