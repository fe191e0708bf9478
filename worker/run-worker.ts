import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { existsSync } from 'node:fs';
import { type ChannelWorker, createChannelWorkers } from './channel-workers.js';
import { checkModels } from './check-models.js';
import { checkServer } from './check-server.js';
import { createActivities } from '../activities/create-activities.js';
import type { AgentDefinition } from '../activities/agent.js';
import { createAgents, modelAt } from '../activities/agents.js';
import { createModel } from '../activities/models.js';
import type { Config } from '../config/load-config.js';
import { compiledPath } from '../config/package-root.js';
import { apartQueue } from '../protocol/names.js';
import { openStore } from '../store/open-store.js';
import type { SessionStore } from '../store/session-store.js';
import { loadAgents } from './load-agents.js';
import { createLog } from './log.js';
import { StartError } from './start-error.js';
import { Owner } from './owner.js';
import { createProcessName } from './process-name.js';
import { watchLease } from './watch-lease.js';

/** Running tries may finish for so long after a stop was asked for; then they end as `WorkerDraining`. */
const GRACE_MS = 8_000;
const FORCE_MS = 12_000;

/** Starts a worker and serves until a signal or the end of the supervisor's channel; with a supervisor, only once it says so. */
export async function runWorker(config: Config, { isApart }: { isApart: boolean }): Promise<void> {
  const log = createLog(config.logLevel);
  Runtime.install({
    logger: new DefaultLogger('WARN', ({ level, message, meta }) => {
      const { error: err, ...rest } = meta ?? {};
      log[level === 'ERROR' ? 'error' : 'warn']({ ...rest, ...(err === undefined ? {} : { err }) }, message);
    }),
    // The SDK's native half would print its own way, to standard output.
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } },
    workerHeartbeatInterval: '1s',
    shutdownSignals: [],
  });
  const definitions = await loadAgents(config.agentFiles);
  checkModels(definitions, config);
  const agents = createAgents(definitions, config.model, config);
  await checkServer(config);
  const store = await openStore(config.store);
  try {
    const connection = await NativeConnection.connect({ address: config.address });
    const instance = createProcessName();
    const owner = process.send === undefined ? null : new Owner();
    // It polls for nothing before it runs, and making it takes longer than anything else here.
    const worker = await createWorker(config, { store, agents, instance, connection, isApart });
    const servesChannels = config.serveChannels && !isApart;
    const channels = servesChannels ? await createChannelWorkers(config, { store, connection, instance }) : [];
    const order = await owner?.toldToServe(instance);
    if (order === null) return;
    if (order?.leaseId) watchLease(store, order.leaseId, instance);
    await serve({ worker, channels }, owner, () =>
      log.info({ address: config.address, agents: [...agents.keys()], model: config.model }, 'serving sessions'),
    );
  } finally {
    await store.close();
  }
}

async function createWorker(
  config: Config,
  parts: {
    store: SessionStore;
    agents: ReturnType<typeof createAgents>;
    instance: string;
    connection: NativeConnection;
    isApart: boolean;
  },
): Promise<Worker> {
  const { instance, connection, isApart, ...rest } = parts;
  const bundle = compiledPath('workflow-bundle.js');
  if (!existsSync(bundle)) throw new StartError(`${bundle} is missing; build it with "npm run build"`);
  return Worker.create({
    connection,
    identity: instance,
    namespace: config.namespace,
    // Whoever may kill the process runs alone in it, and no session has its workflow there.
    ...(isApart
      ? { taskQueue: apartQueue(config.taskQueue) }
      : { taskQueue: config.taskQueue, workflowBundle: { codePath: bundle } }),
    activities: createActivities({
      ...rest,
      modelOf: rememberModels(config),
      workerInstance: instance,
      defaultZone: config.timeZone,
      channels: new Set(Object.keys(config.channels)),
    }),
    maxHeartbeatThrottleInterval: '1s',
    stickyQueueScheduleToStartTimeout: '2s',
    maxConcurrentActivityTaskExecutions: isApart ? 1 : 500,
    maxConcurrentWorkflowTaskExecutions: 100,
    shutdownGraceTime: GRACE_MS,
    shutdownForceTime: FORCE_MS,
  });
}

/** One model object for each specification and each worker. */
function rememberModels(config: Config) {
  const models = new Map<string, ReturnType<typeof createModel>>();
  return (definition: AgentDefinition, link: number) => {
    const model = modelAt(definition, link) ?? config.model;
    if (typeof model !== 'string') return model;
    const known = models.get(model) ?? createModel(model, config.providers);
    models.set(model, known);
    return known;
  };
}

interface Serving {
  worker: Worker;
  channels: ChannelWorker[];
}

async function serve({ worker, channels }: Serving, owner: Owner | null, onReady: () => void): Promise<void> {
  const all = [worker, ...channels.map((channel) => channel.worker)];
  const stop = () => {
    for (const each of all) if (each.getState() === 'RUNNING') each.shutdown();
  };
  process.on('SIGTERM', stop);
  if (owner) owner.onGone(stop);
  else process.on('SIGINT', stop);
  // The supervisor may have died while this process started.
  if (owner?.isGone) return;
  // One that fails takes the others along: a process that serves half of what it says would look healthy.
  const done = Promise.all(all.map((each) => each.run().finally(stop)));
  for (const { loop } of channels) loop.start();
  onReady();
  if (owner) owner.tell({ kind: 'ready' });
  else process.stdout.write(`ready worker pid=${process.pid}\n`);
  try {
    await done;
  } finally {
    await Promise.all(channels.map(({ loop }) => loop.stop()));
  }
}
