import type { Output } from '../protocol/outputs.js';
import { followOutputs, type Journal } from './follow.js';
import { SessionError } from './session-error.js';

export interface FollowWhile {
  sessionId: string;
  afterSeq: number;
  signal: AbortSignal | undefined;
  /** Rejects when there is nothing left to wait for; its reason ends the iteration. */
  check: () => Promise<void>;
  /** Milliseconds between two checks. */
  everyMs: number;
}

/** Outputs of a session one by one, until the signal aborts. Leaves nothing behind, however its reader leaves. */
export async function* followWhile(
  journal: Journal,
  { sessionId, afterSeq, signal, check, everyMs }: FollowWhile,
): AsyncGenerator<Output> {
  const stop = new AbortController();
  const stopped = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
  let gone: unknown;
  const watch = setInterval(() => {
    check().catch((error: unknown) => {
      gone ??= error;
      stop.abort();
    });
  }, everyMs);
  try {
    for await (const outputs of followOutputs(journal, sessionId, { afterSeq, signal: stopped })) yield* outputs;
    if (gone) throw gone;
  } finally {
    clearInterval(watch);
  }
}

/** What is asked of a session whose answer is awaited. */
export interface Aliveness {
  isRunning(sessionId: string): Promise<boolean>;
}

/**
 * A server that does not answer for a while is no reason to give up; a session that has ended is.
 * @throws SessionError `session_ended`
 */
export async function requireAlive(sessions: Aliveness, sessionId: string, what: string): Promise<void> {
  const isRunning = await sessions.isRunning(sessionId).catch((error: unknown) => {
    return !(error instanceof SessionError && error.code === 'unknown_session');
  });
  if (isRunning) return;
  throw new SessionError('session_ended', `the session "${sessionId}" ended before it answered ${what}`);
}
