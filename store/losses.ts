import { sql } from 'kysely';
import { SUSPECT_LOSSES } from '../protocol/failures.js';
import type { Db, Tx } from './schema.js';
import type { OpenTask } from './session-store.js';

/** Marks a task as lost with its worker, once however often it is told, and answers how many its call has lost. */
export async function countLoss(tx: Tx, task: OpenTask): Promise<number> {
  return task.kind === 'callModel' ? countLostTry(tx, task) : countLostRun(tx, task);
}

async function countLostTry(tx: Tx, { sessionId, id, taskToken }: OpenTask): Promise<number> {
  await tx
    .updateTable('tries')
    .set({ lost: 1 })
    .where('session_id', '=', sessionId)
    .where('call_id', '=', id)
    .where('task_token', '=', taskToken)
    .execute();
  const { lost } = await tx
    .selectFrom('tries')
    .select((row) => row.fn.countAll<number>().as('lost'))
    .where('session_id', '=', sessionId)
    .where('call_id', '=', id)
    .where('lost', '=', 1)
    .executeTakeFirstOrThrow();
  return Number(lost);
}

async function countLostRun(tx: Tx, { sessionId, id, taskToken }: OpenTask): Promise<number> {
  await tx
    .updateTable('tool_runs')
    .set((row) => ({ losses: row('losses', '+', 1), lost_token: taskToken }))
    .where('session_id', '=', sessionId)
    .where('tool_call_id', '=', id)
    .where((row) => row.or([row('lost_token', 'is', null), row('lost_token', '!=', taskToken)]))
    .execute();
  const run = await tx
    .selectFrom('tool_runs')
    .select('losses')
    .where('session_id', '=', sessionId)
    .where('tool_call_id', '=', id)
    .executeTakeFirst();
  return run?.losses ?? 0;
}

/** Calls and tool calls that lost as many workers as a suspect, and that somebody still waits for. */
export async function countSuspects(db: Db): Promise<number> {
  const calls = await db
    .selectFrom('tries')
    .innerJoin('calls', (join) =>
      join.onRef('calls.session_id', '=', 'tries.session_id').onRef('calls.call_id', '=', 'tries.call_id'),
    )
    .select('tries.call_id')
    .where('tries.lost', '=', sql.lit(1)) // literals: parameters would not match the partial indexes
    .where('calls.closed', '=', 0)
    .groupBy(['tries.session_id', 'tries.call_id'])
    .having((row) => row.fn.countAll<number>(), '>=', SUSPECT_LOSSES)
    .execute();
  const runs = await db
    .selectFrom('tool_runs')
    .select('tool_call_id')
    .where('losses', '>=', sql.lit(SUSPECT_LOSSES))
    .where('result', 'is', null)
    .where((row) => row.not(row.exists(outcomeOfRun(db))))
    .execute();
  return calls.length + runs.length;
}

function outcomeOfRun(db: Db) {
  return db
    .selectFrom('outcomes')
    .select('outcomes.turn_id')
    .whereRef('outcomes.session_id', '=', sql.ref('tool_runs.session_id'))
    .whereRef('outcomes.turn_id', '=', sql.ref('tool_runs.turn_id'));
}
