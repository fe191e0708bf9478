import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { fileURLToPath } from 'node:url';

/** The floor's worker process: tells its parent of each answered message. Same worker settings as Vigil's. */
const [address, taskQueue] = process.argv.slice(2);
Runtime.install({ logger: new DefaultLogger('ERROR'), workerHeartbeatInterval: '1s', shutdownSignals: [] });
const connection = await NativeConnection.connect({ address: address! });
const worker = await Worker.create({
  connection,
  taskQueue: taskQueue!,
  workflowsPath: fileURLToPath(new URL('./floor-workflow.ts', import.meta.url)),
  activities: {
    async answer(id: string): Promise<void> {
      process.send!({ kind: 'answered', id });
    },
  },
  maxHeartbeatThrottleInterval: '1s',
  stickyQueueScheduleToStartTimeout: '2s',
  maxConcurrentActivityTaskExecutions: 500,
  maxConcurrentWorkflowTaskExecutions: 100,
});
process.on('disconnect', () => process.exit(0));
const done = worker.run();
process.send!({ kind: 'ready' });
await done;
