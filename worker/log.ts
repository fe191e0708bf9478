import { pino, type Logger } from 'pino';

/** Structured logs on standard error; standard output belongs to what a command answers. */
export function createLog(level: string): Logger {
  return pino({ level, base: { pid: process.pid } }, pino.destination({ dest: 2, sync: true }));
}
