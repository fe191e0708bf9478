import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogFile } from './dev-server/log-file.js';

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ChildStart {
  readonly modulePath: string;
  readonly env: NodeJS.ProcessEnv;
  /** Takes what the child prints. A file, not a pipe: a child that drains after its owner was killed can still print. */
  readonly log: LogFile;
  /** How long the child may take to end once asked. */
  readonly graceMs: number;
  /** A child that answers no ping for so long is frozen, and lost. */
  readonly freezeMs: number;
}

const PING_MS = 1_000;

/**
 * One worker process, from its start to its end. It must say `{kind: 'ready'}` once it takes work, answer `{kind: 'ping'}` with
 * `{kind: 'pong'}`, and end by itself within its grace time when asked by SIGTERM or when its channel closes.
 *
 * A frozen process keeps its polls open and swallows tasks, so one that stops answering is killed: then it is a dead one.
 */
export class WorkerChild {
  /** Settles once the process is gone, for whatever cause; never rejects. */
  readonly exited: Promise<ChildExit>;
  readonly #process: ChildProcess;
  readonly #graceMs: number;
  readonly #freezeMs: number;

  constructor({ modulePath, env, log, graceMs, freezeMs }: ChildStart) {
    // A process group of its own: the terminal's Ctrl-C is its owner's to handle.
    this.#process = fork(modulePath, [], { detached: true, env, stdio: ['ignore', log.fd, log.fd, 'ipc'] });
    this.#graceMs = graceMs;
    this.#freezeMs = freezeMs;
    this.exited = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => resolve({ code, signal }));
      this.#process.once('error', () => resolve({ code: null, signal: null }));
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Settles when the child says that it takes work; never when it ends before that: race it with `exited`. */
  async ready(signal: AbortSignal): Promise<void> {
    for (;;) {
      const [message] = (await once(this.#process, 'message', { signal })) as [{ kind?: unknown }];
      if (message.kind === 'ready') return this.#watch();
    }
  }

  /** Counts answers, not time: an owner that was itself stopped for a while condemns nobody. */
  #watch(): void {
    let unanswered = 0;
    this.#process.on('message', () => (unanswered = 0));
    const pinging = setInterval(() => {
      if (unanswered++ * PING_MS >= this.#freezeMs) this.kill();
      else if (this.#process.connected) this.#process.send({ kind: 'ping' }, () => undefined);
    }, PING_MS);
    void this.exited.then(() => clearInterval(pinging));
  }

  async stop(): Promise<void> {
    this.#process.kill('SIGTERM');
    const ended = new AbortController();
    void sleep(this.#graceMs, undefined, { signal: ended.signal }).then(
      () => this.kill(),
      () => undefined,
    );
    await this.exited;
    ended.abort();
  }

  /** Does not wait: `exited` tells when it is gone. */
  kill(): void {
    this.#process.kill('SIGKILL');
  }
}

export function describeExit({ code, signal }: ChildExit): string {
  return signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${signal}`;
}
