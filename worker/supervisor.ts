/**
 * Keeps one process running: starts it, starts it again with back-off when it ends unexpectedly, and gives up, saying why,
 * when it keeps ending.
 *
 * I1. At most one process of a supervisor runs at any time.
 * I2. After `stop` was called nothing is started any more, and `stop` settles only when nothing runs.
 * I3. Every failure after the first start reaches `gaveUp` or leads to another start; none is dropped.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Report } from './dev-server/progress.js';
import { RestartBudget } from './restart-budget.js';

/** A running process. `exited` settles with the reason of its end and never rejects. */
export interface Running {
  readonly pid: number;
  readonly exited: Promise<string>;
  /** What it printed last, to explain its end. */
  readonly logTail: () => string;
  readonly stop: () => Promise<void>;
  readonly kill: () => void;
}

export interface Supervised<T extends Running> {
  readonly name: string;
  /** Settles once the process serves; throws when it ended before that. Must obey the signal. */
  readonly start: (signal: AbortSignal) => Promise<T>;
  readonly onStarted: (running: T) => void;
  /** Whether what made the very first start fail will be there at the second try, too: then there is none. */
  readonly isFutile: (error: unknown) => boolean;
  /** Whether what killed the process is known and taken care of: such an end does not count. May not throw. */
  readonly isExcused: (ended: T) => Promise<boolean>;
  readonly report: Report;
}

export class Supervisor<T extends Running> {
  /** Settles with the reason when the process will not be started again; stays open otherwise. */
  readonly gaveUp: Promise<string>;
  readonly #supervised: Supervised<T>;
  readonly #budget = new RestartBudget();
  readonly #stopping = new AbortController();
  #giveUp: (reason: string) => void = () => undefined;
  #current: T | undefined;
  #watching: Promise<void> = Promise.resolve();

  constructor(supervised: Supervised<T>) {
    this.#supervised = supervised;
    this.gaveUp = new Promise((resolve) => (this.#giveUp = resolve));
  }

  /** @throws what made the first start fail, when trying again would not help or did not help often enough */
  async start(): Promise<T> {
    const starting = this.#startPatiently(true);
    this.#watching = starting.then(
      (first) => this.#watch(first),
      () => undefined,
    );
    return starting;
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#current?.stop();
    await this.#watching;
  }

  /** Hurries a stop: nothing is started any more. */
  kill(): void {
    this.#stopping.abort();
    this.#current?.kill();
  }

  /** Ends the process that runs now, to be followed by another. */
  replace(): void {
    this.#current?.kill();
  }

  async #watch(first: T): Promise<void> {
    for (let running = first; ;) {
      const reason = await running.exited;
      this.#current = undefined;
      if (this.#stopping.signal.aborted) return;
      try {
        if (!(await this.#supervised.isExcused(running))) {
          await this.#backOff(`it ended (${reason})`, running.logTail());
        }
        running = await this.#startPatiently(false);
      } catch (error) {
        if (!this.#stopping.signal.aborted) this.#giveUp((error as Error).message);
        return;
      }
    }
  }

  async #startPatiently(isFirst: boolean): Promise<T> {
    for (;;) {
      try {
        return await this.#startOnce();
      } catch (error) {
        if (this.#stopping.signal.aborted || (isFirst && this.#supervised.isFutile(error))) throw error;
        const [summary = '', ...log] = (error as Error).message.split('\n');
        await this.#backOff(summary, log.join('\n'));
      }
    }
  }

  async #startOnce(): Promise<T> {
    const running = await this.#supervised.start(this.#stopping.signal);
    this.#current = running;
    if (this.#stopping.signal.aborted) await running.stop();
    this.#stopping.signal.throwIfAborted();
    this.#supervised.onStarted(running);
    return running;
  }

  async #backOff(summary: string, log: string): Promise<void> {
    const { name, report } = this.#supervised;
    const delayMs = this.#budget.spend(Date.now());
    if (delayMs === null) throw new Error(`${name} keeps failing and is given up: ${summary}\n${log}`.trimEnd());
    report(`${name}: ${summary}; starting it again in ${delayMs} ms`);
    await sleep(delayMs, undefined, { signal: this.#stopping.signal });
  }
}
