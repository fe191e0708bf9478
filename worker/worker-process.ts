import { setTimeout as sleep } from 'node:timers/promises';
import { compiledPath } from '../config/package-root.js';
import { describeExit, WorkerChild } from './child-process.js';
import { LogFile } from './dev-server/log-file.js';
import { withProgress, type Report } from './dev-server/progress.js';
import type { Running } from './supervisor.js';

const READY_LIMIT_MS = 60_000;
/** More than the worker gives its running tries (`run-worker.ts`: 12 s), so that it comes to its end by itself. */
const STOP_LIMIT_MS = 15_000;

/** The worker did not come up for a reason of its own, like a faulty agent file or a missing key. */
export class WorkerUnfitError extends Error {
  override readonly name = 'WorkerUnfitError';
}

export interface WorkerStart {
  readonly env: NodeJS.ProcessEnv;
  /** `null`: it prints where this process does. */
  readonly logPath: string | null;
  /** The lease that the worker runs under. */
  readonly leaseId: string;
  readonly freezeMs: number;
  readonly report: Report;
  readonly signal: AbortSignal;
}

export interface RunningWorker extends Running {
  /** Its name towards Temporal and in the store. */
  readonly instance: string;
}

/**
 * Starts a worker process and waits until it takes work.
 * @throws WorkerUnfitError
 */
export async function startWorker(start: WorkerStart): Promise<RunningWorker> {
  const { env, logPath, leaseId, freezeMs, report, signal } = start;
  const log = logPath === null ? null : new LogFile(logPath);
  const child = new WorkerChild({
    modulePath: compiledPath('worker/main.js'),
    args: ['--lease', leaseId],
    env,
    outputFd: log?.fd ?? process.stderr.fd,
    graceMs: STOP_LIMIT_MS,
    freezeMs,
  });
  log?.close();
  let instance: string;
  try {
    instance = await withProgress(report, 'starting the worker', () => becomesReady(child, log, signal));
  } catch (error) {
    child.kill();
    await child.exited;
    throw error;
  }
  return {
    instance,
    pid: child.pid,
    exited: child.exited.then(describeExit),
    logTail: () => log?.tail() ?? '',
    stop: () => child.stop(),
    kill: () => child.kill(),
  };
}

async function becomesReady(child: WorkerChild, log: LogFile | null, signal: AbortSignal): Promise<string> {
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
    return await Promise.race([child.ready(until), ended, late]);
  } finally {
    settled.abort();
    late.catch(() => undefined);
    ended.catch(() => undefined);
  }
}

function logEnd(log: LogFile | null): string {
  return log === null ? '' : `; its log ${log.path} ends with:\n${log.tail()}`;
}
