import { setTimeout as sleep } from 'node:timers/promises';
import type { SessionStore } from '../store/session-store.js';
import type { Report } from './dev-server/progress.js';

/** A worker for suspects, with its own lease and supervision. */
export interface ApartWorker {
  /** Settles with the reason when no worker will run again; stays open otherwise. */
  readonly gaveUp: Promise<string>;
  start(): Promise<unknown>;
  stop(): Promise<void>;
  kill(): void;
}

export interface ApartSettings {
  readonly store: Pick<SessionStore, 'countSuspects'>;
  readonly open: () => Promise<ApartWorker>;
  readonly report: Report;
  /** Milliseconds between two looks, and that a worker without suspects is kept. */
  readonly lookMs?: number;
  readonly idleMs?: number;
}

const LOOK_MS = 1_000;
const IDLE_MS = 60_000;

/**
 * Runs a worker for suspects while there are any: calls that were running in two workers when these were lost. There each runs alone, so
 * one that does kill its worker is known by it, and takes nobody along.
 *
 * A1 At most one such worker, started by the first suspect, ended when there was none for a minute.
 * A2 Its end, however often, is never the end of the supervisor.
 */
export class ApartWorkers {
  readonly #settings: ApartSettings;
  readonly #stopping = new AbortController();
  #worker: ApartWorker | null = null;
  #watching: Promise<void> = Promise.resolve();

  constructor(settings: ApartSettings) {
    this.#settings = settings;
  }

  start(): void {
    this.#watching = this.#watch();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#watching;
    await this.#end();
  }

  /** Hurries a stop. */
  kill(): void {
    this.#worker?.kill();
  }

  async #watch(): Promise<void> {
    const { lookMs = LOOK_MS, idleMs = IDLE_MS } = this.#settings;
    const { signal } = this.#stopping;
    for (let idleSinceMs = performance.now(); !signal.aborted;) {
      // A store that does not answer says nothing about suspects.
      const suspects = await this.#settings.store.countSuspects().catch(() => null);
      if (suspects !== 0) idleSinceMs = performance.now();
      if (suspects !== null && suspects > 0 && !this.#worker) await this.#begin();
      if (performance.now() - idleSinceMs > idleMs) await this.#end();
      await sleep(lookMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #begin(): Promise<void> {
    const { open, report } = this.#settings;
    report('a call was running in two workers that were lost: it goes on apart from the others');
    try {
      const worker = await open();
      this.#worker = worker;
      void worker.gaveUp.then(async (reason) => {
        report(`the worker for suspects: ${reason}`);
        if (this.#worker === worker) await this.#end();
      });
      await worker.start();
    } catch (error) {
      report(`the worker for suspects did not start: ${(error as Error).message}`);
      await this.#end();
    }
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.stop();
  }
}
