import { pino, type Logger } from 'pino';

/** Characters that are kept while they cannot be written; what is logged beyond them is lost. */
const KEPT_CHARS = 1024 * 1024;
const STANDARD_ERROR = 2;

/**
 * Structured logs on standard error; standard output belongs to what a command answers.
 * Never throws: a log on a full disk must not end the turn that has something to tell. It is written later, if that is possible.
 */
export function createLog(level: string, dest = STANDARD_ERROR): Logger {
  const destination = pino.destination({ dest, sync: true, maxLength: KEPT_CHARS });
  destination.on('error', () => undefined);
  return pino({ level, base: { pid: process.pid } }, destination);
}
