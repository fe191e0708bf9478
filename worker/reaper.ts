import { ActivityNotFoundError, type Client, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import type { FailureDetails } from '../protocol/failures.js';
import { WORKFLOW_TYPE } from '../protocol/names.js';
import type { SessionStore } from '../store/session-store.js';

export type IsLost = (workerInstance: string) => boolean;

/** `PENDING_ACTIVITY_STATE_STARTED` of Temporal's API. */
const STARTED = 2;
const DESCRIBED_AT_ONCE = 20;

/**
 * Ends on the server what lost workers were running, so that their sessions go on at once instead of after the stall budget.
 *
 * R1 Only tasks of workers that `isLost` names are ended; whoever calls has made sure that these take no new ones.
 * R2 Safe to repeat and to race: a task that has ended meanwhile is left alone.
 * R3 The registry is not the whole truth: a worker may have taken a task and not registered it, so the server is asked too, last,
 *    because that takes time for each session.
 *
 * @returns how many tasks were ended
 */
export async function reap(
  { client, store }: { client: Client; store: SessionStore },
  isLost: IsLost,
): Promise<number> {
  return (await failRegistered(client, store, isLost)) + (await failUnregistered(client, isLost));
}

async function failRegistered(client: Client, store: SessionStore, isLost: IsLost): Promise<number> {
  const lost = (await store.openTasks()).filter((task) => isLost(task.workerInstance));
  const ended = lost.map((task) =>
    hasEnded(client.activity.fail(Buffer.from(task.taskToken, 'base64'), workerLost(task.kind, task.attempt))),
  );
  return count(await Promise.all(ended));
}

async function failUnregistered(client: Client, isLost: IsLost): Promise<number> {
  const query = `WorkflowType = '${WORKFLOW_TYPE}' AND ExecutionStatus = 'Running'`;
  const ended: boolean[] = [];
  let batch: Promise<boolean[]>[] = [];
  for await (const { workflowId } of client.workflow.list({ query })) {
    batch.push(failPending(client, workflowId, isLost));
    if (batch.length < DESCRIBED_AT_ONCE) continue;
    ended.push(...(await Promise.all(batch)).flat());
    batch = [];
  }
  ended.push(...(await Promise.all(batch)).flat());
  return count(ended);
}

async function failPending(client: Client, workflowId: string, isLost: IsLost): Promise<boolean[]> {
  const described = await client.workflow
    .getHandle(workflowId)
    .describe()
    .catch((error: unknown) => {
      if (error instanceof WorkflowNotFoundError) return null;
      throw error;
    });
  const pending = described?.raw.pendingActivities ?? [];
  const lost = pending.filter((task) => task.state === STARTED && isLost(task.lastWorkerIdentity ?? ''));
  return Promise.all(
    lost.map((task) =>
      hasEnded(
        client.activity.fail(
          { workflowId, activityId: task.activityId ?? '' },
          workerLost(task.activityType?.name ?? '', task.attempt ?? 1),
        ),
      ),
    ),
  );
}

function workerLost(activityType: string, attempt: number): ApplicationFailure {
  const details: FailureDetails = { attempt, phase: null };
  return ApplicationFailure.create({
    type: 'WorkerLost',
    message: 'the worker is gone',
    // What follows a lost model try is for the session to decide; for a tool, its retry policy.
    nonRetryable: activityType === 'callModel',
    details: [details],
  });
}

async function hasEnded(failing: Promise<void>): Promise<boolean> {
  try {
    await failing;
    return true;
  } catch (error) {
    if (error instanceof ActivityNotFoundError) return false;
    throw error;
  }
}

const count = (answers: boolean[]): number => answers.filter(Boolean).length;
