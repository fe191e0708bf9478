import type { Selectable } from 'kysely';
import type { NewOutput } from '../protocol/outputs.js';
import { hasEndedTurn } from './fence.js';
import { saveSession } from './outputs.js';
import { type Db, fromColumn, type ToolRunsTable, type Tx } from './schema.js';
import { type BeginTool, type BegunTool, type FinishTool, StaleTryError, type ToolResult } from './session-store.js';
import { lockSession } from './sessions.js';

/** The claim comes before the effect, so whoever finds a claim without a result knows that the effect may have happened (P5). */
export async function beginTool(tx: Tx, begin: BeginTool, nowMs: number): Promise<BegunTool> {
  const session = await lockSession(tx, begin.sessionId);
  const run = await findRun(tx, begin.sessionId, begin.toolCallId);
  if (run?.result != null) return { kind: 'finished', result: fromColumn<ToolResult>(run.result) };
  if (await hasEndedTurn(tx, begin.sessionId, begin.turnId)) {
    throw new StaleTryError(`Tool call ${begin.toolCallId} may not run: turn ${begin.turnId} has ended.`);
  }
  if (run && !begin.idempotent && !isSameRun(run, begin)) return { kind: 'unknown' };
  await claim(tx, begin, nowMs);
  if (session) await saveSession(tx, session, [toolStarted(begin)], {}, nowMs);
  return { kind: 'run' };
}

function isSameRun(run: Selectable<ToolRunsTable>, begin: BeginTool): boolean {
  return run.attempt === begin.attempt && run.task_token === begin.taskToken;
}

function findRun(tx: Tx, sessionId: string, toolCallId: string) {
  return tx
    .selectFrom('tool_runs')
    .selectAll()
    .where('session_id', '=', sessionId)
    .where('tool_call_id', '=', toolCallId)
    .executeTakeFirst();
}

async function claim(tx: Tx, begin: BeginTool, nowMs: number): Promise<void> {
  const runner = {
    attempt: begin.attempt,
    worker_instance: begin.workerInstance,
    task_token: begin.taskToken,
    started_at_ms: nowMs,
  };
  await tx
    .insertInto('tool_runs')
    .values({
      session_id: begin.sessionId,
      tool_call_id: begin.toolCallId,
      turn_id: begin.turnId,
      call_id: begin.callId,
      name: begin.name,
      ...runner,
      ended_at_ms: null,
      result: null,
      losses: 0,
      lost_token: null,
    })
    .onConflict((conflict) => conflict.columns(['session_id', 'tool_call_id']).doUpdateSet(runner))
    .execute();
}

function toolStarted({ toolCallId, turnId, name, input }: BeginTool): NewOutput {
  return { kind: 'ToolStarted', key: `${toolCallId}/started`, turnId, toolCallId, name, input };
}

/** Not fenced: whoever ran the tool knows what it did. A result of a call that never began here is ignored. */
export async function finishTool(tx: Tx, finish: FinishTool, nowMs: number): Promise<void> {
  const { sessionId, turnId, toolCallId, name, result } = finish;
  const session = await lockSession(tx, sessionId);
  const recorded = await tx
    .updateTable('tool_runs')
    .set({ result: JSON.stringify(result), ended_at_ms: nowMs })
    .where('session_id', '=', sessionId)
    .where('tool_call_id', '=', toolCallId)
    .where('result', 'is', null)
    .executeTakeFirst();
  if (!session || recorded.numUpdatedRows === 0n) return;
  // The result is kept for the model; on people's screens the turn is over.
  if (await hasEndedTurn(tx, sessionId, turnId)) return;
  const key = `${toolCallId}/finished`;
  const output: NewOutput = {
    kind: 'ToolFinished',
    key,
    turnId,
    toolCallId,
    name,
    ok: result.ok,
    result: result.output,
  };
  await saveSession(tx, session, [output], {}, nowMs);
}

/** The results that are known, by tool call. */
export async function toolResults(db: Db, sessionId: string, toolCallIds: string[]): Promise<Map<string, ToolResult>> {
  if (toolCallIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('tool_runs')
    .select(['tool_call_id', 'result'])
    .where('session_id', '=', sessionId)
    .where('tool_call_id', 'in', toolCallIds)
    .execute();
  return new Map(
    rows.flatMap(({ tool_call_id, result }) =>
      result === null ? [] : [[tool_call_id, fromColumn<ToolResult>(result)]],
    ),
  );
}
