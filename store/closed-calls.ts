import type { Db } from './schema.js';
import type { LiveCall } from './session-store.js';

type LiveModel = Extract<LiveCall, { kind: 'callModel' }>;
type LiveTool = Extract<LiveCall, { kind: 'callTool' }>;

/** Calls asked about in one statement: far below the depth that SQLite allows an expression. */
const CALLS_PER_STATEMENT = 200;

export async function findClosed<Live extends LiveCall>(db: Db, calls: readonly Live[]): Promise<Live[]> {
  const models = calls.filter((call): call is Live & LiveModel => call.kind === 'callModel');
  const tools = calls.filter((call): call is Live & LiveTool => call.kind === 'callTool');
  const closed: Live[] = [];
  for (const some of portions(models)) closed.push(...(await closedModels(db, some)));
  for (const some of portions(tools)) closed.push(...(await closedTools(db, some)));
  return closed;
}

/** A call with a result is about to report it: its own try ends by itself. */
async function closedModels<Live extends LiveModel>(db: Db, calls: Live[]): Promise<Live[]> {
  const rows = await db
    .selectFrom('calls')
    .select(['session_id', 'call_id', 'newest_dispatch', 'newest_attempt', 'closed'])
    .select((row) => row('result', 'is not', null).as('has_result'))
    .where((row) => row.or(calls.map((call) => row.and({ session_id: call.sessionId, call_id: call.callId }))))
    .execute();
  const byId = new Map(rows.map((row) => [idOf(row.session_id, row.call_id), row]));
  return calls.filter(({ sessionId, callId, dispatch, attempt }) => {
    const row = byId.get(idOf(sessionId, callId));
    if (!row) return false;
    const isNewest = row.newest_dispatch === dispatch && row.newest_attempt === attempt;
    return !isNewest || (row.closed === 1 && !row.has_result);
  });
}

async function closedTools<Live extends LiveTool>(db: Db, calls: Live[]): Promise<Live[]> {
  const rows = await db
    .selectFrom('tool_runs')
    .leftJoin('outcomes', (join) =>
      join
        .onRef('outcomes.session_id', '=', 'tool_runs.session_id')
        .onRef('outcomes.turn_id', '=', 'tool_runs.turn_id'),
    )
    .select(['tool_runs.session_id', 'tool_call_id', 'attempt', 'task_token', 'outcomes.outcome'])
    .where((row) =>
      row.or(calls.map((call) => row.and({ 'tool_runs.session_id': call.sessionId, tool_call_id: call.toolCallId }))),
    )
    .execute();
  const byId = new Map(rows.map((row) => [idOf(row.session_id, row.tool_call_id), row]));
  return calls.filter(({ sessionId, toolCallId, attempt, taskToken }) => {
    const row = byId.get(idOf(sessionId, toolCallId));
    return row !== undefined && (row.outcome !== null || row.attempt !== attempt || row.task_token !== taskToken);
  });
}

/** Session ids hold no line breaks. */
const idOf = (sessionId: string, id: string): string => `${sessionId}\n${id}`;

function portions<T>(all: T[]): T[][] {
  const count = Math.ceil(all.length / CALLS_PER_STATEMENT);
  return Array.from({ length: count }, (_, n) => all.slice(n * CALLS_PER_STATEMENT, (n + 1) * CALLS_PER_STATEMENT));
}
