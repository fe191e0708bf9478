import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { until } from './until.js';

export interface ChildOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** A program run by a test, with what it printed so far. */
export class Child {
  stdout = '';
  stderr = '';
  /** The exit code, or the signal that ended it; `undefined` while it runs. */
  end: number | NodeJS.Signals | undefined;
  readonly #process: ChildProcess;

  constructor(program: string, args: readonly string[], options: ChildOptions = {}) {
    this.#process = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#process.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.#process.once('close', (code, signal) => (this.end = code ?? signal ?? 1));
    // A test that fails half-way must neither keep jest alive nor leave the program behind.
    this.#process.unref();
    for (const pipe of [this.#process.stdout, this.#process.stderr]) (pipe as Socket | null)?.unref();
    const kill = () => this.#process.kill('SIGKILL');
    process.once('exit', kill);
    this.#process.once('close', () => process.off('exit', kill));
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async hasEnded(limitMs?: number): Promise<number | NodeJS.Signals> {
    await until(`the end of process ${this.pid}`, () => this.end !== undefined, limitMs);
    return this.end!;
  }

  /** Waits for a line on standard output; fails early when the program ends without it. */
  async line(start: string, limitMs?: number): Promise<string> {
    return until(
      `a line that begins "${start}"`,
      () => {
        const found = this.stdout.split('\n').find((line) => line.startsWith(start));
        if (found === undefined && this.end !== undefined) throw new Error(`It ended (${this.end}): ${this.stderr}`);
        return found;
      },
      limitMs,
    );
  }
}
