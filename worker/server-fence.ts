import type { Client } from '@temporalio/client';
import type { LeasedWorker } from '../store/session-store.js';

/** `TASK_QUEUE_TYPE_WORKFLOW` and `TASK_QUEUE_TYPE_ACTIVITY` of Temporal's API. */
const TASK_QUEUE_TYPES = [1, 2];
const NEWEST_EVENTS = 100;

/**
 * Ends the open polls of a worker and takes the sessions that it has in memory off it, so that a frozen one swallows no task.
 * Holds for 30 s. A server that does not know of it answers and does nothing; then a frozen worker costs workflow task timeouts.
 */
export async function fenceWorker(client: Client, taskQueue: string, worker: LeasedWorker): Promise<void> {
  const { namespace } = client.options;
  const { instance: identity, stickyQueue } = worker;
  await Promise.all(
    worker.instanceKeys.map((workerInstanceKey) =>
      client.workflowService.shutdownWorker({
        namespace,
        identity,
        workerInstanceKey,
        taskQueue,
        taskQueueTypes: TASK_QUEUE_TYPES,
        stickyTaskQueue: stickyQueue ?? '',
        reason: 'lost',
      }),
    ),
  );
}

/** What the server calls the worker; nothing before its first heartbeat, about a second after its start. */
export async function findInstanceKeys(client: Client, instance: string): Promise<string[]> {
  const { namespace } = client.options;
  const query = `WorkerIdentity = '${instance.replaceAll("'", "''")}'`;
  const { workersInfo } = await client.workflowService.listWorkers({ namespace, pageSize: 100, query });
  return (workersInfo ?? []).flatMap(({ workerHeartbeat }) =>
    workerHeartbeat?.workerIdentity === instance && workerHeartbeat.workerInstanceKey
      ? [workerHeartbeat.workerInstanceKey]
      : [],
  );
}

/** The queue's name is the worker's identity and something random: only the history of a session that the worker served tells it. */
export async function findStickyQueue(client: Client, sessions: string[], instance: string): Promise<string | null> {
  for (const workflowId of sessions) {
    const found = await stickyQueueIn(client, workflowId, instance).catch(() => null);
    if (found !== null) return found;
  }
  return null;
}

async function stickyQueueIn(client: Client, workflowId: string, instance: string): Promise<string | null> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId },
    maximumPageSize: NEWEST_EVENTS,
  });
  const queues = (history?.events ?? []).map((event) => event.workflowTaskScheduledEventAttributes?.taskQueue?.name);
  return queues.find((name) => name?.startsWith(`${instance}-`)) ?? null;
}
