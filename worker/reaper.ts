import { ActivityNotFoundError, type Client, WorkflowNotFoundError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { type FailureDetails, SUSPECT_LOSSES } from '../protocol/failures.js';
import { WORKFLOW_TYPE } from '../protocol/names.js';
import type { OpenTask, SessionStore } from '../store/session-store.js';

export type IsLost = (workerInstance: string) => boolean;

/** `PENDING_ACTIVITY_STATE_STARTED` of Temporal's API. */
const STARTED = 2;
const DESCRIBED_AT_ONCE = 20;

/**
 * Ends on the server what lost workers were running, so that their sessions go on at once instead of after the stall budget.
 *
 * R1 Only tasks of workers that `isLost` names are ended; whoever calls has made sure that these take no new ones.
 * R2 Safe to repeat and to race: a task that has ended meanwhile is left alone.
 * R3 Each loss is counted against its call before the session hears of it. What never registered is charged to nobody, nor is a planned end.
 * R4 The registry is not the whole truth: a worker may have taken a task and not registered it, so the server is asked too, last,
 *    because that takes time for each session.
 *
 * @returns how many tasks were ended
 */
export async function reap(
  { client, store }: { client: Client; store: SessionStore },
  isLost: IsLost,
  isPlanned = false,
): Promise<number> {
  const lossesOf = (task: OpenTask) => (isPlanned ? Promise.resolve(0) : store.countLoss(task));
  const lost = (await store.openTasks()).filter((task) => isLost(task.workerInstance));
  return (await failRegistered(client, lost, lossesOf)) + (await failUnregistered(client, isLost));
}

async function failRegistered(
  client: Client,
  lost: OpenTask[],
  lossesOf: (task: OpenTask) => Promise<number>,
): Promise<number> {
  const ended = lost.map(async (task) => {
    const { kind, attempt, taskToken } = task;
    const failure = workerLost({ kind, attempt, losses: await lossesOf(task) });
    return hasEnded(client.activity.fail(Buffer.from(taskToken, 'base64'), failure));
  });
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
          workerLost({ kind: task.activityType?.name ?? '', attempt: task.attempt ?? 1, losses: 0 }),
        ),
      ),
    ),
  );
}

/** What follows a lost model try is for the session to decide; for a tool, its retry policy, until it is under suspicion. */
function workerLost({ kind, attempt, losses }: { kind: string; attempt: number; losses: number }): ApplicationFailure {
  const details: FailureDetails = { attempt, phase: null, losses };
  const nonRetryable = kind === 'callModel' || losses >= SUSPECT_LOSSES;
  return ApplicationFailure.create({
    type: 'WorkerLost',
    message: 'the worker is gone',
    nonRetryable,
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
