import type { TurnOutcome } from '../protocol/calls.js';
import type { NewOutput } from '../protocol/outputs.js';
import { turnTexts } from './outputs.js';
import { partialOfTurn } from './partials.js';
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
  const text: TurnText = { segments, partial: await keptPartial(tx, sessionId, outcome) };
  if (!(await isFirstOutcome(tx, sessionId, outcome, text))) return [];
  const keepsPartial = text.partial !== null;
  const discards = await closeCalls(tx, { sessionId, turnId: outcome.turnId, keepsPartial }, nowMs);
  return [...discards, turnEnded(outcome, text)];
}

interface TurnText {
  segments: string[];
  partial: string | null;
}

/** Whoever stops a turn has read what it said so far, and it stays. What broke off by itself is taken back: it says nothing certain. */
async function keptPartial(tx: Tx, sessionId: string, { turnId, outcome }: TurnOutcome): Promise<string | null> {
  return outcome === 'aborted' ? partialOfTurn(tx, sessionId, turnId) : null;
}

async function isFirstOutcome(
  tx: Tx,
  sessionId: string,
  outcome: TurnOutcome,
  { segments, partial }: TurnText,
): Promise<boolean> {
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
      partial,
      usage: JSON.stringify(outcome.usage),
      started_at_ms: outcome.startedAtMs,
      ended_at_ms: outcome.endedAtMs,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return inserted.numInsertedOrUpdatedRows === 1n;
}

function turnEnded(
  { turnId, outcome, reason, usage, source, silent }: TurnOutcome,
  { segments, partial }: TurnText,
): NewOutput {
  const text = segments.join(BETWEEN_SEGMENTS);
  const key = `${turnId}/ended`;
  return { kind: 'TurnEnded', key, turnId, outcome, reason, text, partial, usage, source, silent };
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
    partial: row.partial,
    usage: fromColumn<StoredOutcome['usage']>(row.usage),
    startedAtMs: row.started_at_ms,
    endedAtMs: row.ended_at_ms,
  };
}
