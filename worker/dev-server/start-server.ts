import { setTimeout as sleep } from 'node:timers/promises';
import { checkDatabase } from './check-database.js';
import { endLeftoverServer, recordServer } from './leftover-server.js';
import { LogFile } from './log-file.js';
import { LOOPBACK } from './ports.js';
import { withProgress, type Report } from './progress.js';
import { serverArguments, type ServerPlace } from './server-arguments.js';
import { ServerProcess } from './server-process.js';
import { waitUntilServing } from './wait-until-serving.js';

const START_LIMIT_MS = 60_000;
const NAMESPACE = 'default';

export interface DevServerOptions extends ServerPlace {
  /** The Temporal CLI, as `findTemporal` found it. */
  readonly temporalPath: string;
  readonly logPath: string;
  readonly report: Report;
  readonly signal?: AbortSignal;
}

/** A running Temporal dev server. It ends with the process that started it, even when that is killed. */
export interface DevServer {
  readonly address: string;
  readonly namespace: string;
  readonly uiUrl: string | null;
  readonly pid: number;
  /** Settles with the reason once the server has ended for whatever cause; never rejects. */
  readonly exited: Promise<string>;
  /** What the server logged last, for a report about its end. */
  readonly logTail: () => string;
  readonly stop: () => Promise<void>;
  /** Hurries a stop. */
  readonly kill: () => void;
}

export class DevServerError extends Error {
  override readonly name = 'DevServerError';
}

/**
 * Starts a server and waits until its default namespace takes requests and knows our search attributes.
 * @throws DevServerError when it cannot start, with the remedy or with the last lines of its log
 */
export async function startDevServer(options: DevServerOptions): Promise<DevServer> {
  const { dbPath, report } = options;
  if (dbPath !== null) {
    await endLeftoverServer(dbPath, report);
    checkDatabase(dbPath);
  }
  const log = new LogFile(options.logPath);
  const server = await ServerProcess.start(options.temporalPath, serverArguments(options, LOOPBACK), log.fd);
  log.close();
  if (dbPath !== null) recordServer(dbPath, server.pid);
  const exited = server.exited.then(async (reason) => {
    if (dbPath === null) return reason;
    // Nothing to end, unless the leash was killed: then the next server must not start beside this one.
    return endLeftoverServer(dbPath, report).then(
      () => reason,
      (error: Error) => `${reason}; ${error.message}`,
    );
  });
  const address = `${LOOPBACK}:${options.port}`;
  try {
    await withProgress(report, 'starting the Temporal server', () => served(address, exited, options.signal));
  } catch (error) {
    server.kill();
    await exited;
    throw describeFailure(error, log);
  }
  return {
    address,
    namespace: NAMESPACE,
    uiUrl: options.uiPort === null ? null : `http://${LOOPBACK}:${options.uiPort}`,
    pid: server.pid,
    exited,
    logTail: () => log.tail(),
    stop: async () => {
      await server.stop();
      await exited;
    },
    kill: () => server.kill(),
  };
}

/** Serving, dead, given up and too late, whichever comes first. */
async function served(address: string, exited: Promise<string>, signal?: AbortSignal): Promise<void> {
  const settled = new AbortController();
  const stopWaiting = AbortSignal.any([settled.signal, ...(signal ? [signal] : [])]);
  const died = exited.then((reason) => {
    throw new DevServerError(`the Temporal server ended while it started (${reason})`);
  });
  const late = sleep(START_LIMIT_MS, undefined, { signal: stopWaiting }).then(() => {
    throw new DevServerError(`the Temporal server was not ready within ${START_LIMIT_MS / 1_000} s`);
  });
  try {
    await Promise.race([waitUntilServing(address, NAMESPACE, stopWaiting), died, late]);
  } finally {
    settled.abort();
    late.catch(() => undefined);
    died.catch(() => undefined);
  }
}

function describeFailure(error: unknown, log: LogFile): unknown {
  if (!(error instanceof DevServerError)) return error;
  return new DevServerError(`${error.message}; its log ${log.path} ends with:\n${log.tail()}`, { cause: error });
}
