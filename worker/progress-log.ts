import { appendFileSync } from 'node:fs';
import { LogFile } from './dev-server/log-file.js';
import type { Report } from './dev-server/progress.js';

/** Lines for a person: on standard error, and in a file that keeps them. */
export class ProgressLog {
  /** While set, lines go to the file alone. */
  isQuiet = false;
  readonly #path: string;
  #file: LogFile | undefined;

  constructor(path: string) {
    this.#path = path;
    // The owner may be gone, and its end of the pipe with it: there is nobody left to tell.
    process.stdout.on('error', () => undefined);
    process.stderr.on('error', () => undefined);
  }

  readonly report: Report = (line) => {
    if (!this.isQuiet) process.stderr.write(`${line}\n`);
    this.#file ??= new LogFile(this.#path);
    appendFileSync(this.#file.fd, `${new Date().toISOString()} ${line}\n`);
  };
}
