import { Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { existsSync } from 'node:fs';
import { createActivities } from '../activities/create-activities.js';
import type { AgentDefinition } from '../activities/agent.js';
import { createAgents } from '../activities/agents.js';
import { createModel } from '../activities/models.js';
import { messageOf } from '../activities/classify-error.js';
import type { Config } from '../config/load-config.js';
import { compiledPath } from '../config/package-root.js';
import { openStore } from '../store/open-store.js';
import type { SessionStore } from '../store/session-store.js';
import { loadAgents } from './load-agents.js';
import { createLog } from './log.js';
import { requireSearchAttributes } from './require-search-attributes.js';
import { StartError } from './start-error.js';
import { createWorkerInstance } from './worker-instance.js';

const CONNECT_LIMIT_MS = 5_000;
/** Running tries may finish for so long after a stop was asked for; then they end as `WorkerDraining`. */
const GRACE_MS = 8_000;
const FORCE_MS = 12_000;

/** Starts a worker and serves until a signal or the end of the supervisor's channel. */
export async function runWorker(config: Config): Promise<void> {
  const log = createLog(config.logLevel);
  Runtime.install({
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      const { error: err, ...rest } = meta ?? {};
      log[level === 'ERROR' ? 'error' : 'warn']({ ...rest, ...(err === undefined ? {} : { err }) }, message);
    }),
    workerHeartbeatInterval: '1s',
    shutdownSignals: [],
  });
  const agents = createAgents(await loadAgents(config.agentFiles), config.model);
  checkModels(config);
  await checkServer(config);
  const store = await openStore(config.store);
  try {
    const worker = await createWorker(config, store, agents);
    await serve(worker, () =>
      log.info({ address: config.address, agents: [...agents.keys()], model: config.model }, 'serving sessions'),
    );
  } finally {
    await store.close();
  }
}

/** A missing key is better said at the start than in the first turn. */
function checkModels(config: Config): void {
  try {
    createModel(config.model, config.providers);
  } catch (error) {
    throw new StartError(messageOf(error));
  }
}

async function checkServer(config: Config): Promise<void> {
  const { address, namespace } = config;
  const connection = await Connection.connect({ address, connectTimeout: CONNECT_LIMIT_MS }).catch((error: unknown) => {
    throw new StartError(
      `cannot reach a Temporal server at ${address} (${messageOf(error)}); start one with "npm start", or name yours with VIGIL_ADDRESS`,
    );
  });
  try {
    await requireSearchAttributes(connection, namespace);
  } finally {
    await connection.close();
  }
}

async function createWorker(
  config: Config,
  store: SessionStore,
  agents: ReturnType<typeof createAgents>,
): Promise<Worker> {
  const connection = await NativeConnection.connect({ address: config.address });
  const bundle = compiledPath('workflow-bundle.js');
  if (!existsSync(bundle)) throw new StartError(`${bundle} is missing; build it with "npm run build"`);
  const workerInstance = createWorkerInstance();
  return Worker.create({
    connection,
    identity: workerInstance,
    namespace: config.namespace,
    taskQueue: config.taskQueue,
    workflowBundle: { codePath: bundle },
    activities: createActivities({ store, agents, modelOf: rememberModels(config), workerInstance }),
    maxHeartbeatThrottleInterval: '1s',
    stickyQueueScheduleToStartTimeout: '2s',
    maxConcurrentActivityTaskExecutions: 500,
    maxConcurrentWorkflowTaskExecutions: 100,
    shutdownGraceTime: GRACE_MS,
    shutdownForceTime: FORCE_MS,
  });
}

/** One model object for each specification and each worker. */
function rememberModels(config: Config) {
  const models = new Map<string, ReturnType<typeof createModel>>();
  return ({ model = config.model }: AgentDefinition) => {
    if (typeof model !== 'string') return model;
    const known = models.get(model) ?? createModel(model, config.providers);
    models.set(model, known);
    return known;
  };
}

async function serve(worker: Worker, onReady: () => void): Promise<void> {
  const stop = () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  process.on('SIGTERM', stop);
  if (process.send) {
    // The supervisor decides; a Ctrl-C in its terminal reaches this process too.
    process.on('SIGINT', () => undefined);
    process.on('disconnect', stop);
    process.on('message', (message: { kind?: unknown }) => {
      if (message.kind === 'ping') process.send?.({ kind: 'pong' }, () => undefined);
    });
    // The supervisor may have died while this process started.
    if (!process.connected) return;
  } else {
    process.on('SIGINT', stop);
  }
  const done = worker.run();
  onReady();
  if (process.send) process.send({ kind: 'ready' });
  else process.stdout.write(`ready worker pid=${process.pid}\n`);
  await done;
}
