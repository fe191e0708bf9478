import { setTimeout as sleep } from 'node:timers/promises';
import { compiledPath } from '../config/package-root.js';
import { describeExit, WorkerChild } from './child-process.js';
import { LogFile } from './dev-server/log-file.js';
import { withProgress, type Report } from './dev-server/progress.js';
import type { Running } from './supervisor.js';

const READY_LIMIT_MS = 60_000;
/** More than the worker gives its running tries (`run-worker.ts`: 12 s), so that it comes to its end by itself. */
const STOP_LIMIT_MS = 15_000;

/** More than any pause of a healthy process: a stuck event loop, a swapping machine. */
const FREEZE_MS = 20_000;

/** The worker did not come up for a reason of its own, like a faulty agent file or a missing key. */
export class WorkerUnfitError extends Error {
  override readonly name = 'WorkerUnfitError';
}

export interface WorkerStart {
  readonly env: NodeJS.ProcessEnv;
  readonly logPath: string;
  readonly report: Report;
  readonly signal: AbortSignal;
}

/**
 * Starts a worker process and waits until it takes work.
 * @throws WorkerUnfitError
 */
export async function startWorker({ env, logPath, report, signal }: WorkerStart): Promise<Running> {
  const log = new LogFile(logPath);
  const child = new WorkerChild({
    modulePath: compiledPath('worker/main.js'),
    env,
    log,
    graceMs: STOP_LIMIT_MS,
    freezeMs: FREEZE_MS,
  });
  log.close();
  try {
    await withProgress(report, 'starting the worker', () => becomesReady(child, log, signal));
  } catch (error) {
    child.kill();
    await child.exited;
    throw error;
  }
  return {
    pid: child.pid,
    exited: child.exited.then(describeExit),
    logTail: () => log.tail(),
    stop: () => child.stop(),
    kill: () => child.kill(),
  };
}

async function becomesReady(child: WorkerChild, log: LogFile, signal: AbortSignal): Promise<void> {
  const settled = new AbortController();
  const until = AbortSignal.any([signal, settled.signal]);
  const ended = child.exited.then((exit) => {
    const reason = `the worker ended before it was ready: ${describeExit(exit)}; ${logEnd(log)}`;
    // Killed from outside is an accident; ending by itself has a cause that is still there.
    throw exit.signal === null ? new WorkerUnfitError(reason) : new Error(reason);
  });
  const late = sleep(READY_LIMIT_MS, undefined, { signal: until }).then(() => {
    throw new WorkerUnfitError(`the worker was not ready within ${READY_LIMIT_MS / 1_000} s; ${logEnd(log)}`);
  });
  try {
    await Promise.race([child.ready(until), ended, late]);
  } finally {
    settled.abort();
    late.catch(() => undefined);
    ended.catch(() => undefined);
  }
}

function logEnd(log: LogFile): string {
  return `its log ${log.path} ends with:\n${log.tail()}`;
}
