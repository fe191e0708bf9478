import { closeSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const ROTATE_BYTES = 10 * 1024 * 1024;

/** A log that several processes append to. Kept to two files of about 10 MiB, rotated when it is opened. */
export class LogFile {
  readonly fd: number;
  readonly #startsAt: number;

  constructor(readonly path: string) {
    mkdirSync(dirname(path), { recursive: true });
    if (sizeOf(path) > ROTATE_BYTES) renameSync(path, `${path}.1`);
    this.#startsAt = sizeOf(path);
    this.fd = openSync(path, 'a');
  }

  /** The last lines written since this log was opened. */
  tail(lines = 15): string {
    const text = readFileSync(this.path).subarray(this.#startsAt).toString('utf8');
    return text.trimEnd().split('\n').slice(-lines).join('\n');
  }

  close(): void {
    closeSync(this.fd);
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
