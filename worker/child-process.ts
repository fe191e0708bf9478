import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface ChildStart {
  readonly modulePath: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Takes what the child prints. A file, not a pipe: a child that drains after its owner was killed can still print. */
  readonly outputFd: number;
  /** How long the child may take to end once asked. */
  readonly graceMs: number;
  /** A child that answers no ping for so long is frozen, and lost. */
  readonly freezeMs: number;
}

const LONGEST_PING_MS = 1_000;
/** A killed process goes at once, unless the kernel holds it (a dead disk or network share). */
const KILL_LIMIT_MS = 5_000;

/**
 * One worker process, from its start to its end. It must say `{kind: 'prepared', instance}` when it has loaded all it needs, and
 * `{kind: 'ready'}` once it takes work, which it does when told `{kind: 'serve', leaseId}`; answer `{kind: 'ping'}` with `{kind: 'pong'}`, and end by itself within its grace time when asked by SIGTERM or when its channel closes.
 *
 * A frozen process keeps its polls open and swallows tasks, so one that stops answering is killed: then it is a dead one.
 */
export class WorkerChild {
  /** Settles once the process is gone, for whatever cause, or was killed and does not go; never rejects. */
  readonly exited: Promise<ChildExit>;
  readonly #process: ChildProcess;
  readonly #graceMs: number;
  readonly #freezeMs: number;

  #giveUp: () => void = () => undefined;

  constructor({ modulePath, args, env, outputFd, graceMs, freezeMs }: ChildStart) {
    // A process group of its own: the terminal's Ctrl-C is its owner's to handle.
    this.#process = fork(modulePath, [...args], { detached: true, env, stdio: ['ignore', outputFd, outputFd, 'ipc'] });
    this.#graceMs = graceMs;
    this.#freezeMs = freezeMs;
    this.exited = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => resolve({ code, signal }));
      this.#process.once('error', () => resolve({ code: null, signal: null }));
      this.#giveUp = () => resolve({ code: null, signal: null });
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Answers with the child's instance when it could serve; never when it ends before that: race it with `exited`. */
  async prepared(signal: AbortSignal): Promise<string> {
    const { instance } = await this.#says('prepared', signal);
    this.#watch();
    return String(instance);
  }

  /** Settles when the child takes work; never when it ends before that. */
  async serve(leaseId: string, signal: AbortSignal): Promise<void> {
    const serving = this.#says('ready', signal);
    this.#process.send({ kind: 'serve', leaseId }, () => undefined);
    await serving;
  }

  async #says(kind: string, signal: AbortSignal): Promise<{ instance?: unknown }> {
    for (;;) {
      const [message] = (await once(this.#process, 'message', { signal })) as [{ kind?: unknown; instance?: unknown }];
      if (message.kind === kind) return message;
    }
  }

  /** Counts answers, not time: an owner that was itself stopped for a while condemns nobody. */
  #watch(): void {
    let unanswered = 0;
    const pingMs = Math.min(LONGEST_PING_MS, this.#freezeMs / 10);
    this.#process.on('message', () => (unanswered = 0));
    const pinging = setInterval(() => {
      if (unanswered++ * pingMs >= this.#freezeMs) this.kill();
      else if (this.#process.connected) this.#process.send({ kind: 'ping' }, () => undefined);
    }, pingMs);
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
    setTimeout(this.#giveUp, KILL_LIMIT_MS).unref();
  }
}

export function describeExit({ code, signal }: ChildExit): string {
  if (signal !== null) return `signal ${signal}`;
  return code === null ? 'killed, but the system does not let it go' : `exit code ${code}`;
}
