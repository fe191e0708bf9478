import type { TurnOutcome } from '../protocol/calls.js';
import type { NewOutput } from '../protocol/outputs.js';
import { turnTexts } from './outputs.js';
import { type Db, fromColumn, type Tx } from './schema.js';
import type { StoredOutcome } from './session-store.js';
import { closeCalls } from './streams.js';

const BETWEEN_SEGMENTS = '\n\n';

/**
 * Ends a turn in the store: its one outcome, and its calls closed to whoever still runs them.
 * Returns the outputs that tell of it, the last one `TurnEnded`; none when the turn had its outcome before.
 */
export async function endTurn(tx: Tx, sessionId: string, outcome: TurnOutcome, nowMs: number): Promise<NewOutput[]> {
  const segments = await turnTexts(tx, sessionId, outcome.turnId);
  if (!(await isFirstOutcome(tx, sessionId, outcome, segments))) return [];
  const discards = await closeCalls(tx, { sessionId, turnId: outcome.turnId }, nowMs);
  return [...discards, turnEnded(outcome, segments)];
}

async function isFirstOutcome(tx: Tx, sessionId: string, outcome: TurnOutcome, segments: string[]): Promise<boolean> {
  const inserted = await tx
    .insertInto('outcomes')
    .values({
      session_id: sessionId,
      turn_id: outcome.turnId,
      outcome: outcome.outcome,
      reason: outcome.reason,
      source: JSON.stringify(outcome.source),
      silent: outcome.silent ? 1 : 0,
      segments: JSON.stringify(segments),
      usage: JSON.stringify(outcome.usage),
      started_at_ms: outcome.startedAtMs,
      ended_at_ms: outcome.endedAtMs,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return inserted.numInsertedOrUpdatedRows === 1n;
}

function turnEnded({ turnId, outcome, reason, usage, source, silent }: TurnOutcome, segments: string[]): NewOutput {
  const text = segments.join(BETWEEN_SEGMENTS);
  return { kind: 'TurnEnded', key: `${turnId}/ended`, turnId, outcome, reason, text, usage, source, silent };
}

export async function findOutcome(db: Db, sessionId: string, turnId: string): Promise<StoredOutcome | null> {
  const row = await db
    .selectFrom('outcomes')
    .selectAll()
    .where('session_id', '=', sessionId)
    .where('turn_id', '=', turnId)
    .executeTakeFirst();
  if (!row) return null;
  const segments = fromColumn<string[]>(row.segments);
  return {
    sessionId,
    turnId,
    outcome: row.outcome,
    reason: row.reason,
    source: fromColumn<StoredOutcome['source']>(row.source),
    silent: row.silent === 1,
    segments,
    text: segments.join(BETWEEN_SEGMENTS),
    usage: fromColumn<StoredOutcome['usage']>(row.usage),
    startedAtMs: row.started_at_ms,
    endedAtMs: row.ended_at_ms,
  };
}
