/** A worker process with room for one activity, otherwise as `worker/run-worker.ts` makes it. Says on its channel when it is ready. */
import { NativeConnection, Worker } from '@temporalio/worker';
import type { LanguageModelV3 } from '@ai-sdk/provider';
import { createAgents, modelAt } from '../../activities/agents.js';
import { createActivities } from '../../activities/create-activities.js';
import { createModel } from '../../activities/models.js';
import { compiledPath } from '../../config/package-root.js';
import { openStore } from '../../store/open-store.js';
import { loadAgents } from '../../worker/load-agents.js';

const { VIGIL_ADDRESS: address = '', VIGIL_TASK_QUEUE: taskQueue = '', VIGIL_STORE: location = '' } = process.env;

const store = await openStore(location);
const agents = createAgents(await loadAgents([process.env['VIGIL_AGENTS'] ?? '']), 'demo');
const models = new Map<string, LanguageModelV3>();
const worker = await Worker.create({
  connection: await NativeConnection.connect({ address }),
  taskQueue,
  workflowBundle: { codePath: compiledPath('workflow-bundle.js') },
  activities: createActivities({
    store,
    agents,
    defaultZone: 'UTC',
    channels: new Set(),
    workerInstance: `narrow-${process.pid}`,
    modelOf: (definition, link) => {
      const model = modelAt(definition, link) ?? 'demo';
      if (typeof model !== 'string') return model;
      models.set(model, models.get(model) ?? createModel(model, {}));
      return models.get(model)!;
    },
  }),
  maxConcurrentActivityTaskExecutions: 1,
});
const running = worker.run();
process.send?.({ kind: 'ready' });
await running;
