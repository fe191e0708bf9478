import type { Db } from './schema.js';
import type { OpenTask } from './session-store.js';

/** The registry: every model try and tool run that began and is not known to have ended. */
export async function openTasks(db: Db): Promise<OpenTask[]> {
  const tries = await db
    .selectFrom('tries')
    .select(['session_id', 'call_id as id', 'attempt', 'worker_instance', 'task_token'])
    .select((row) =>
      row
        .selectFrom('tries as lost')
        .select((lost) => lost.fn.countAll<number>().as('losses'))
        .whereRef('lost.session_id', '=', 'tries.session_id')
        .whereRef('lost.call_id', '=', 'tries.call_id')
        .where('lost.lost', '=', 1)
        .as('losses'),
    )
    .where('ended_at_ms', 'is', null)
    .execute();
  const tools = await db
    .selectFrom('tool_runs')
    .select(['session_id', 'tool_call_id as id', 'attempt', 'worker_instance', 'task_token', 'losses'])
    .where('ended_at_ms', 'is', null)
    .execute();
  return [...tries.map((row) => toOpenTask('callModel', row)), ...tools.map((row) => toOpenTask('callTool', row))];
}

interface Row {
  session_id: string;
  id: string;
  attempt: number;
  worker_instance: string;
  task_token: string;
  losses: number | null;
}

function toOpenTask(kind: OpenTask['kind'], row: Row): OpenTask {
  return {
    kind,
    sessionId: row.session_id,
    id: row.id,
    attempt: row.attempt,
    workerInstance: row.worker_instance,
    taskToken: row.task_token,
    losses: Number(row.losses),
  };
}
