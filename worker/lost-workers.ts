import { setTimeout as sleep } from 'node:timers/promises';
import type { LeasedWorker } from '../store/session-store.js';
import type { Report } from './dev-server/progress.js';
import { isKnownDead } from './process-name.js';
import type { Reach } from './reach.js';
import { reap } from './reaper.js';
import { fenceWorker, findInstanceKeys, findStickyQueue } from './server-fence.js';

/** Well within the 30 s that a fence holds. */
const FENCE_AGAIN_MS = 10_000;
/** A process on a machine out of sight: after an hour of silence it is held down no longer; thawed, it finds its lease gone and leaves. */
const FENCES_AT_MOST = 360;
const RETRY_MS = 1_000;
const RECENT_SESSIONS = 10;

/**
 * Ends what lost workers were running, and holds down those that may still wake up. Order of DESIGN 8: fence, registered tasks, the rest;
 * whoever calls has killed the process before, where it is its own.
 *
 * E1 Ending a worker that another supervisor ends too is harmless.
 * E2 A server or store that does not answer is asked again until it does.
 */
export class LostWorkers {
  readonly #ending = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(
    private readonly reach: Reach,
    private readonly report: Report,
  ) {}

  /** Settles when the worker is known to be dead, or held down long enough. Never rejects. A planned end is charged to nobody. */
  end(worker: LeasedWorker, taskQueue: string, isPlanned = false): Promise<void> {
    const known = this.#ending.get(worker.instance);
    if (known) return known;
    const ending = this.#end(worker, taskQueue, isPlanned).finally(() => this.#ending.delete(worker.instance));
    this.#ending.set(worker.instance, ending);
    return ending;
  }

  /** Of workers of earlier times that nobody watched, and that this machine knows to be dead. */
  endKnownDead(): Promise<void> {
    return this.#untilDone(() => this.#reap(isKnownDead, false));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#ending.values());
  }

  async #end(worker: LeasedWorker, taskQueue: string, isPlanned: boolean): Promise<void> {
    const { instance } = worker;
    const known = { ...worker };
    await this.#untilDone(async () => {
      Object.assign(known, await this.#learn(known));
      await fenceWorker(this.reach.client, taskQueue, known);
      await this.#reap((candidate) => candidate === instance, isPlanned);
    });
    for (let fences = 1; fences < FENCES_AT_MOST && !isKnownDead(instance) && !this.#isStopping; fences++) {
      await this.#pause(FENCE_AGAIN_MS);
      await this.#untilDone(() => fenceWorker(this.reach.client, taskQueue, known));
    }
  }

  async #learn(worker: LeasedWorker): Promise<LeasedWorker> {
    return learnMore(this.reach, worker);
  }

  async #reap(isLost: (instance: string) => boolean, isPlanned: boolean): Promise<void> {
    const ended = await reap(this.reach, isLost, isPlanned);
    if (ended > 0) this.report(`${ended} task(s) of a lost worker go on with another one`);
  }

  async #untilDone(work: () => Promise<void>): Promise<void> {
    let complaint = '';
    while (!this.#isStopping) {
      try {
        return await work();
      } catch (error) {
        const { message } = error as Error;
        if (message !== complaint) this.report(`a lost worker's tasks cannot be ended yet: ${message}`);
        complaint = message;
        await this.#pause(RETRY_MS);
      }
    }
  }

  get #isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  async #pause(durationMs: number): Promise<void> {
    await sleep(durationMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }
}

/** Looks up what a fence needs and is not known yet. */
export async function learnMore({ client, store }: Reach, worker: LeasedWorker): Promise<LeasedWorker> {
  const { instance } = worker;
  const instanceKeys =
    worker.instanceKeys.length > 0 ? worker.instanceKeys : await findInstanceKeys(client, instance).catch(() => []);
  if (worker.stickyQueue !== null) return { ...worker, instanceKeys };
  const served = (await store.openTasks()).filter((task) => task.workerInstance === instance);
  const recent = await store.listSessions({ limit: RECENT_SESSIONS });
  const sessions = new Set([...served, ...recent].map(({ sessionId }) => sessionId));
  return { instance, instanceKeys, stickyQueue: await findStickyQueue(client, [...sessions], instance) };
}
