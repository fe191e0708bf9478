import { setTimeout as sleep } from 'node:timers/promises';
import { compiledPath } from '../config/package-root.js';
import { describeExit, WorkerChild } from './child-process.js';
import { LogFile } from './dev-server/log-file.js';
import { withProgress, type Report } from './dev-server/progress.js';
import type { Running } from './supervisor.js';

const READY_LIMIT_MS = 60_000;
/** More than the worker gives its running tries (`run-worker.ts`: 12 s), so that it comes to its end by itself. */
const STOP_LIMIT_MS = 15_000;
/** Preparing a spare takes a second of processor time, which the worker that has just begun needs more. */
const SPARE_DELAY_MS = 2_000;

/** The worker did not come up for a reason of its own, like a faulty agent file or a missing key. */
export class WorkerUnfitError extends Error {
  override readonly name = 'WorkerUnfitError';
}

export interface WorkerProcessSettings {
  readonly env: NodeJS.ProcessEnv;
  /** Takes suspects alone. */
  readonly isApart: boolean;
  /** `null`: it prints where this process does. */
  readonly logPath: string | null;
  readonly freezeMs: number;
  /** Whether a second process stands by, loaded and idle, so that a lost one is replaced in a moment. */
  readonly spare: boolean;
  readonly report: Report;
}

export interface RunningWorker extends Running {
  /** Its name towards Temporal and in the store. */
  readonly instance: string;
}

interface Prepared {
  readonly child: WorkerChild;
  readonly log: LogFile | null;
  readonly instance: string;
}

/**
 * Starts worker processes, one at a time, and keeps a spare one: loading a worker takes longer than a turn should stand still.
 * A spare takes no work and holds no lease.
 */
export class WorkerProcesses {
  #spare: Prepared | null = null;
  #preparing: Promise<void> = Promise.resolve();
  readonly #stopping = new AbortController();

  constructor(private readonly settings: WorkerProcessSettings) {}

  /**
   * Answers when a worker takes work under the lease.
   * @throws WorkerUnfitError
   */
  async start(leaseId: string, signal: AbortSignal): Promise<RunningWorker> {
    const { report } = this.settings;
    const spare = this.#takeSpare();
    const ready = spare ?? (await withProgress(report, 'starting the worker', () => this.#prepare(signal)));
    await orEnded(ready, signal, (until) => ready.child.serve(leaseId, until));
    if (this.settings.spare) this.#preparing = this.#prepareSpare();
    const { child, log, instance } = ready;
    return {
      instance,
      pid: child.pid,
      exited: child.exited.then(describeExit),
      logTail: () => log?.tail() ?? '',
      stop: () => child.stop(),
      kill: () => child.kill(),
    };
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#preparing;
    const spare = this.#takeSpare();
    spare?.child.kill();
    await spare?.child.exited;
  }

  #takeSpare(): Prepared | null {
    const spare = this.#spare;
    this.#spare = null;
    return spare;
  }

  async #prepareSpare(): Promise<void> {
    const { signal } = this.#stopping;
    try {
      await sleep(SPARE_DELAY_MS, undefined, { signal });
      if (this.#spare !== null) return;
      const spare = await this.#prepare(signal);
      this.#spare = spare;
      void spare.child.exited.then(() => {
        if (this.#spare === spare) this.#spare = null;
      });
    } catch {
      // Without a spare the next start takes longer, and says what is wrong.
    }
  }

  async #prepare(signal: AbortSignal): Promise<Prepared> {
    const { env, isApart, logPath, freezeMs } = this.settings;
    const log = logPath === null ? null : new LogFile(logPath);
    const child = new WorkerChild({
      modulePath: compiledPath('worker/main.js'),
      args: isApart ? ['--apart'] : [],
      env,
      outputFd: log?.fd ?? process.stderr.fd,
      graceMs: STOP_LIMIT_MS,
      freezeMs,
    });
    log?.close();
    const instance = await orEnded({ child, log }, signal, (until) => child.prepared(until));
    return { child, log, instance };
  }
}

/** What the child was asked for, or why it did not come to it; then it is gone. */
async function orEnded<T>(
  { child, log }: Pick<Prepared, 'child' | 'log'>,
  signal: AbortSignal,
  ask: (until: AbortSignal) => Promise<T>,
): Promise<T> {
  const settled = new AbortController();
  const until = AbortSignal.any([signal, settled.signal]);
  const ended = child.exited.then((exit) => {
    const reason = `the worker ended before it was ready: ${describeExit(exit)}${logEnd(log)}`;
    // Killed from outside is an accident; ending by itself has a cause that is still there.
    throw exit.signal === null ? new WorkerUnfitError(reason) : new Error(reason);
  });
  const late = sleep(READY_LIMIT_MS, undefined, { signal: until }).then(() => {
    throw new WorkerUnfitError(`the worker was not ready within ${READY_LIMIT_MS / 1_000} s${logEnd(log)}`);
  });
  try {
    return await Promise.race([ask(until), ended, late]);
  } catch (error) {
    child.kill();
    await child.exited;
    throw error;
  } finally {
    settled.abort();
    late.catch(() => undefined);
    ended.catch(() => undefined);
  }
}

function logEnd(log: LogFile | null): string {
  return log === null ? '' : `; its log ${log.path} ends with:\n${log.tail()}`;
}
