/**
 * Everything that `vigil dev` runs in one folder, apart from the chat: a Temporal server, a worker, the record of both.
 *
 * I1. Whoever holds the instance lock, and nobody else, touches what is in the data directory.
 * I2. The record (`instance.json`) exists only while messages are accepted, and names the processes that run now.
 * I3. Order of the end: record, worker, server, lock.
 */
import { join } from 'node:path';
import type { DevOptions } from '../config/dev-options.js';
import {
  removeInstance,
  takeInstanceLock,
  writeInstance,
  type Instance,
  type InstanceLock,
} from '../config/instance.js';
import type { ConfigSources } from '../config/layers.js';
import { loadConfig, toEnvironment, type Config } from '../config/load-config.js';
import { requireWritableFolder } from './dev-server/check-database.js';
import { findTemporal } from './dev-server/find-temporal.js';
import { endLeftoverServer } from './dev-server/leftover-server.js';
import { choosePort } from './dev-server/ports.js';
import { withProgress, type Report } from './dev-server/progress.js';
import { startDevServer, type DevServer } from './dev-server/start-server.js';
import { searchMachine } from './dev-server/temporal-sources.js';
import { Supervisor, type Running } from './supervisor.js';
import { WorkerSupervisor } from './worker-supervisor.js';

const TEMPORAL_PORT = 7233;
const UI_PORT = 8233;

export class AlreadyRunningError extends Error {
  override readonly name = 'AlreadyRunningError';

  constructor(
    readonly dataDir: string,
    readonly pid: number | null,
  ) {
    super(
      `an instance already runs in ${dataDir} (pid ${pid ?? 'unknown'}); ` +
        'stop it first, or choose another folder with --data-dir',
    );
  }
}

export interface DevSettings {
  readonly options: DevOptions;
  /** What the worker is configured by, apart from server and store, which are the instance's own. */
  readonly sources: ConfigSources;
  readonly report: Report;
  readonly signal: AbortSignal;
}

export class DevInstance {
  readonly #settings: DevSettings;
  readonly #lock: InstanceLock;
  #server: Supervisor<DevServer> | undefined;
  #worker: WorkerSupervisor | undefined;
  #record: Instance | undefined;
  #starting: Promise<unknown> = Promise.resolve();

  private constructor(settings: DevSettings, lock: InstanceLock) {
    this.#settings = settings;
    this.#lock = lock;
  }

  /** @throws AlreadyRunningError */
  static claim(settings: DevSettings): DevInstance {
    const { dataDir } = settings.options;
    requireWritableFolder(dataDir);
    const lock = takeInstanceLock(dataDir);
    if (!('release' in lock)) throw new AlreadyRunningError(dataDir, lock.heldBy);
    removeInstance(dataDir);
    return new DevInstance(settings, lock);
  }

  /** Settles when messages are accepted, with the record of what runs. */
  start(): Promise<Instance> {
    const starting = this.#start();
    this.#starting = starting.catch(() => undefined);
    return starting;
  }

  /** Settles with the reason when a part of the instance will not run again; stays open otherwise. */
  gaveUp(): Promise<string> {
    return Promise.race([this.#server, this.#worker].flatMap((part) => (part ? [part.gaveUp] : [])));
  }

  async stop(): Promise<void> {
    const { options, report } = this.#settings;
    removeInstance(options.dataDir);
    this.#record = undefined;
    await withProgress(report, 'stopping the worker', async () => this.#worker?.stop());
    await withProgress(report, 'stopping the Temporal server', async () => this.#server?.stop());
    // A start that was under way begins nothing new once the signal is given, and has nothing left to wait for.
    await this.#starting;
    this.#lock.release();
  }

  /** Hurries a stop. */
  kill(): void {
    this.#worker?.kill();
    this.#server?.kill();
  }

  async #start(): Promise<Instance> {
    const server = await this.#startServer();
    this.#settings.signal.throwIfAborted();
    const config = this.#configFor(server);
    const worker = await this.#startWorker(config);
    this.#settings.signal.throwIfAborted();
    return this.#keepRecord(config, server, worker);
  }

  async #startServer(): Promise<DevServer> {
    const { options, sources, report, signal } = this.#settings;
    const dbPath = join(options.dataDir, 'temporal.db');
    // Before the ports are looked at: a server left behind would still hold its own.
    await endLeftoverServer(dbPath, report);
    const ports = await choosePorts(options, report);
    const { path: temporalPath } = await findTemporal(
      searchMachine({ env: sources.environment, report, signal }),
      report,
    );
    signal.throwIfAborted();
    this.#server = new Supervisor({
      name: 'the Temporal server',
      start: (stopping) =>
        startDevServer({ ...ports, dbPath, temporalPath, logPath: this.#log('temporal'), report, signal: stopping }),
      onStarted: (running) => this.#updateRecord({ temporalPid: running.pid }),
      // Files, flags and the program itself are what they are.
      isFutile: () => true,
      isExcused: () => Promise.resolve(false),
      report,
    });
    return this.#server.start();
  }

  async #startWorker(config: Config): Promise<Running> {
    this.#worker = await WorkerSupervisor.open({
      config,
      env: { ...this.#settings.sources.environment, ...toEnvironment(config) },
      logPath: this.#log('worker'),
      onStarted: (running) => this.#updateRecord({ workerPid: running.pid }),
      report: this.#settings.report,
    });
    return this.#worker.start();
  }

  #configFor({ address, namespace }: DevServer): Config {
    const { sources } = this.#settings;
    const store = join(this.#settings.options.dataDir, 'store.db');
    return loadConfig({ ...sources, flags: { ...sources.flags, address, namespace, store } });
  }

  #keepRecord({ taskQueue, store }: Config, server: DevServer, worker: Running): Instance {
    const record: Instance = {
      version: 1,
      pid: process.pid,
      startedAt: new Date().toISOString(),
      address: server.address,
      namespace: server.namespace,
      taskQueue,
      storePath: store,
      ...(server.uiUrl !== null && { uiUrl: server.uiUrl }),
      temporalPid: server.pid,
      workerPid: worker.pid,
      logDir: join(this.#settings.options.dataDir, 'logs'),
    };
    this.#record = record;
    this.#updateRecord({});
    return record;
  }

  #updateRecord(changes: Partial<Instance>): void {
    if (this.#record === undefined) return;
    this.#record = { ...this.#record, ...changes };
    writeInstance(this.#settings.options.dataDir, this.#record);
  }

  #log(name: string): string {
    return join(this.#settings.options.dataDir, 'logs', `${name}.log`);
  }
}

async function choosePorts(options: DevOptions, report: Report): Promise<{ port: number; uiPort: number | null }> {
  const port = await choosePort(
    { label: 'port', flag: '--temporal-port', chosen: options.temporalPort, default: TEMPORAL_PORT },
    report,
  );
  if (!options.ui) return { port, uiPort: null };
  const uiPort = await choosePort(
    { label: 'UI port', flag: '--ui-port', chosen: options.uiPort, default: UI_PORT },
    report,
  );
  return { port, uiPort };
}
