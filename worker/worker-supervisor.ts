/**
 * Keeps one worker process running, under a lease that tells other supervisors that it is looked after; and looks after theirs.
 *
 * I1. A worker process runs only under a lease of this supervisor, and says so by its instance in the row.
 * I2. A worker that is gone, however it went, has its tasks ended on the server at once; the next one does not wait for that.
 * I3. A worker whose lease was taken over is killed: its tasks have been given to others, and its name is burnt.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/load-config.js';
import type { Lease, LeasedWorker } from '../store/session-store.js';
import type { Report } from './dev-server/progress.js';
import { SUSPECT_LOSSES } from '../protocol/failures.js';
import { apartQueue } from '../protocol/names.js';
import { ApartWorkers } from './apart-worker.js';
import { LeaseKeeper } from './lease-keeper.js';
import { learnMore, LostWorkers } from './lost-workers.js';
import { openReach, type Reach } from './reach.js';
import { Supervisor } from './supervisor.js';
import { type RunningWorker, WorkerProcesses, WorkerUnfitError } from './worker-process.js';

const LEARN_EVERY_MS = 2_000;
const LEFTOVERS_LIMIT_MS = 3_000;

export interface WorkerSupervision {
  readonly config: Config;
  /** The worker's own; it says the same as `config`. */
  readonly env: NodeJS.ProcessEnv;
  /** `null`: the worker prints where this process does. */
  readonly logPath: string | null;
  readonly onStarted: (worker: RunningWorker) => void;
  readonly report: Report;
  /** For suspects alone, which run one at a time. Default false. */
  readonly isApart?: boolean;
}

export class WorkerSupervisor {
  /** Settles with the reason when no worker will run again; stays open otherwise. */
  readonly gaveUp: Promise<string>;
  readonly #supervision: WorkerSupervision;
  readonly #reach: Reach;
  readonly #lost: LostWorkers;
  readonly #keeper: LeaseKeeper;
  readonly #process: Supervisor<RunningWorker>;
  readonly #processes: WorkerProcesses;
  readonly #apart: ApartWorkers | null;
  readonly #stopping = new AbortController();

  private constructor(supervision: WorkerSupervision, reach: Reach) {
    this.#supervision = supervision;
    this.#reach = reach;
    const { config, env, logPath, report, isApart = false } = supervision;
    const { freezeMs } = config;
    const spare = config.spareWorker && !isApart;
    this.#processes = new WorkerProcesses({ env, isApart, logPath, freezeMs, spare, report });
    this.#lost = new LostWorkers(reach, report);
    this.#keeper = new LeaseKeeper({
      store: reach.store,
      namespace: config.namespace,
      taskQueue: this.#taskQueue,
      leaseMs: config.leaseMs,
      onLost: () => this.#process.replace(),
      onExpired: (lease) => void this.#endExpired(lease),
      report,
    });
    this.#process = new Supervisor({
      name: 'the worker',
      start: (signal) => this.#startWorker(signal),
      onStarted: (worker) => this.#onStarted(worker),
      isFutile: (error) => error instanceof WorkerUnfitError,
      isExcused: ({ instance }) => this.#hadSuspect(instance),
      report,
    });
    const open = () => WorkerSupervisor.open({ ...supervision, isApart: true, onStarted: () => undefined });
    this.#apart = isApart ? null : new ApartWorkers({ store: reach.store, open, report });
    this.gaveUp = this.#process.gaveUp;
  }

  /** @throws when the store or the server cannot be reached */
  static async open(supervision: WorkerSupervision): Promise<WorkerSupervisor> {
    return new WorkerSupervisor(supervision, await openReach(supervision.config));
  }

  async start(): Promise<RunningWorker> {
    void this.#lost.endKnownDead();
    this.#keeper.start();
    this.#apart?.start();
    return this.#process.start();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#process.stop(), this.#processes.stop(), this.#apart?.stop()]);
    await this.#endLeftovers();
    await this.#lost.stop();
    await this.#keeper.stop();
    await this.#reach.close();
  }

  /** Hurries a stop. */
  kill(): void {
    this.#apart?.kill();
    this.#process.kill();
  }

  get #taskQueue(): string {
    const { config, isApart = false } = this.#supervision;
    return isApart ? apartQueue(config.taskQueue) : config.taskQueue;
  }

  /** Something was running in it that had been in a lost worker before: it will run apart from now on, or come to its end there. */
  async #hadSuspect(instance: string): Promise<boolean> {
    const { store } = this.#reach;
    try {
      const lost = (await store.openTasks()).filter((task) => task.workerInstance === instance);
      const losses = await Promise.all(lost.map((task) => store.countLoss(task)));
      return losses.some((count) => count >= SUSPECT_LOSSES);
    } catch {
      return false; // Without the store nothing is known of anybody.
    }
  }

  /** A worker of which nothing is known yet; one without sessions has no queue of its own for them. */
  #unknown(instance: string): LeasedWorker {
    return { instance, instanceKeys: [], stickyQueue: this.#supervision.isApart ? '' : null };
  }

  async #startWorker(signal: AbortSignal): Promise<RunningWorker> {
    const worker = await this.#processes.start(await this.#keeper.hold(), signal);
    await this.#keeper.show(this.#unknown(worker.instance));
    return worker;
  }

  #onStarted(worker: RunningWorker): void {
    const isOver = new AbortController();
    void worker.exited.then(() => {
      isOver.abort();
      void this.#endOwn(worker.instance);
    });
    void this.#learn(worker.instance, AbortSignal.any([isOver.signal, this.#stopping.signal]));
    this.#supervision.onStarted(worker);
  }

  /** What a fence will need is looked up while all is well: later every moment counts. */
  async #learn(instance: string, signal: AbortSignal): Promise<void> {
    for (let known = this.#unknown(instance); !signal.aborted;) {
      if (known.instanceKeys.length > 0 && known.stickyQueue !== null) return;
      await sleep(LEARN_EVERY_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      known = await learnMore(this.#reach, known).catch(() => known);
      if (this.#keeper.worker?.instance === instance) await this.#keeper.show(known);
    }
  }

  async #endOwn(instance: string): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const { worker } = this.#keeper;
    const known = worker?.instance === instance ? worker : this.#unknown(instance);
    await this.#lost.end(known, this.#taskQueue);
  }

  /** A worker that was killed because it took too long to stop could not end its tasks itself. */
  async #endLeftovers(): Promise<void> {
    const { worker } = this.#keeper;
    if (worker === null) return;
    const left = await this.#reach.store.openTasks().catch(() => []);
    if (!left.some((task) => task.workerInstance === worker.instance)) return;
    const ending = this.#lost.end(worker, this.#taskQueue, true);
    await Promise.race([ending, sleep(LEFTOVERS_LIMIT_MS, undefined, { ref: false })]);
  }

  async #endExpired({ leaseId, worker, supervisor, taskQueue }: Lease): Promise<void> {
    if (worker !== null) {
      this.#supervision.report(`the supervisor ${supervisor} is lost, and its worker with it`);
      await this.#lost.end(worker, taskQueue);
    }
    if (!this.#stopping.signal.aborted) await this.#reach.store.dropLease(leaseId).catch(() => undefined);
  }
}
