import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const RUNNER = fileURLToPath(new URL('../../node_modules/jiti/lib/jiti-cli.mjs', import.meta.url));

export interface StoreProcess {
  child: ChildProcess;
  /** Lines that the process printed so far: one an acknowledged write. */
  lines: string[];
  /** Resolves with the exit code, or the signal's name. */
  ended: Promise<number | string>;
  /** Resolves when that many lines were printed. */
  printed(count: number): Promise<void>;
}

/** Runs a script of `test/support` in a process of its own. `uid` drops root's rights, where the test has them. */
export function startStoreProcess(script: string, args: string[], { uid }: { uid?: number } = {}): StoreProcess {
  const path = fileURLToPath(new URL(script, import.meta.url));
  const options = uid === undefined ? {} : { uid, gid: uid };
  const env = { ...process.env, NODE_OPTIONS: '', JITI_FS_CACHE: 'false' };
  const child = spawn(process.execPath, [RUNNER, path, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
    ...options,
  });
  const lines: string[] = [];
  const output = createInterface({ input: child.stdout });
  output.on('line', (line) => lines.push(line));
  const ended = new Promise<number | string>((resolve) => {
    child.once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  const printed = (count: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        if (lines.length >= count) resolve();
      };
      output.on('line', check);
      output.once('close', () => reject(new Error(`${script} ended after ${lines.length} of ${count} lines`)));
      check();
    });
  return { child, lines, ended, printed };
}
