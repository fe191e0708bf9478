/**
 * `vigil dev` without the chat: runs an instance until it is asked to stop. Started in the foreground by `vigil dev --headless`,
 * or with an IPC channel by the interactive `vigil dev`, which then decides when to stop.
 */
import { join } from 'node:path';
import { parseDevOptions, type DevOptions } from '../config/dev-options.js';
import type { Instance } from '../config/instance.js';
import type { ConfigSources } from '../config/layers.js';
import { loadConfig } from '../config/load-config.js';
import { readSources } from '../config/read-sources.js';
import { AlreadyRunningError, DevInstance } from './dev-instance.js';
import { ProgressLog } from './progress-log.js';
import { StopRequest } from './stop-request.js';

const parsed = parseDevOptions(process.argv.slice(2), process.cwd());
process.exit(parsed.kind === 'exit' ? parsed.code : await run(parsed.options));

interface Run {
  /** The interactive `vigil dev` started this process: it owns the terminal, and hears of everything over the channel. */
  readonly isOwned: boolean;
  readonly stop: StopRequest;
  readonly log: ProgressLog;
}

async function run(options: DevOptions): Promise<number> {
  const isOwned = !options.headless && process.send !== undefined;
  const stop = new StopRequest(isOwned);
  const log = new ProgressLog(join(options.dataDir, 'logs', 'dev.log'));
  try {
    const instance = DevInstance.claim({
      options,
      sources: sourcesOf(options),
      report: log.report,
      signal: stop.signal,
    });
    await serve(instance, { isOwned, stop, log });
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 0;
    const isRefused = error instanceof AlreadyRunningError;
    if (isRefused) await tellOwner({ kind: 'refused', pid: error.pid });
    // A refused owner joins the other instance instead.
    if (!(isRefused && isOwned)) process.stderr.write(`vigil: ${(error as Error).message}\n`);
    return 1;
  }
}

/** The instance names its own server and store, whatever else is said. */
function sourcesOf({ agents, ...options }: DevOptions): ConfigSources {
  const flags = { config: options.config, model: options.model, agents: agents.length > 0 ? agents : undefined };
  const sources = { ...readSources({ flags, environment: process.env, cwd: process.cwd() }), instance: null };
  // What is wrong is said before anything starts.
  loadConfig(sources);
  return sources;
}

async function serve(instance: DevInstance, { isOwned, stop, log }: Run): Promise<void> {
  stop.onHurry(() => instance.kill());
  try {
    const record = await Promise.race([instance.start(), stop.requested]);
    if (record === undefined) return;
    if (!isOwned) process.stdout.write(`${readyLine(record)}\n`);
    await tellOwner({ kind: 'ready' });
    // From here the terminal belongs to the chat.
    log.isQuiet = isOwned;
    const failure = await Promise.race([instance.gaveUp(), stop.requested]);
    if (failure !== undefined) throw new Error(failure);
  } finally {
    log.isQuiet = false;
    await instance.stop();
  }
}

function readyLine(record: Instance): string {
  const { address, namespace, storePath, uiUrl, pid } = record;
  return `ready address=${address} namespace=${namespace} store=${quoted(storePath)} ui=${uiUrl ?? 'none'} pid=${pid}`;
}

function quoted(path: string): string {
  return /\s/.test(path) ? JSON.stringify(path) : path;
}

function tellOwner(message: object): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined || !process.connected) resolve();
    else process.send(message, undefined, undefined, () => resolve());
  });
}
