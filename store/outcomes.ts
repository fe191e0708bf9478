import type { TurnOutcome } from '../protocol/calls.js';
import type { Stall } from '../protocol/liveness.js';
import type { NewOutput } from '../protocol/outputs.js';
import type { Discards } from '../protocol/usage.js';
import { turnTexts } from './outputs.js';
import { partialOfTurn } from './partials.js';
import { type Db, fromColumn, type Tx } from './schema.js';
import type { StoredOutcome } from './session-store.js';
import { callsOf, closeCalls, discardedIn, triesOf, type TurnCall } from './streams.js';

const BETWEEN_SEGMENTS = '\n\n';

/**
 * Ends a turn in the store: its one outcome, and its calls closed to whoever still runs them.
 * Returns the outputs that tell of it, the last one `TurnEnded`; none when the turn had its outcome before.
 */
export async function endTurn(tx: Tx, sessionId: string, outcome: TurnOutcome, nowMs: number): Promise<NewOutput[]> {
  const { turnId } = outcome;
  const calls = await callsOf(tx, { sessionId, turnId });
  const found: Findings = {
    segments: await turnTexts(tx, sessionId, turnId),
    partial: await keptPartial(tx, sessionId, outcome),
    discards: await discardedIn(tx, sessionId, calls),
    stall: outcome.stall ? await seen(tx, sessionId, outcome.stall, calls) : undefined,
  };
  if (!(await isFirstOutcome(tx, sessionId, outcome, found))) return [];
  const closed = await closeCalls(tx, { sessionId, calls, keepsPartial: found.partial !== null }, nowMs);
  return [...closed, turnEnded(outcome, found)];
}

/** What the store adds to an outcome. */
interface Findings {
  segments: string[];
  partial: string | null;
  discards: Discards | null;
  stall: Stall | undefined;
}

/** A session hears of a try's phase by its beats alone; what the try wrote may tell more. */
async function seen(tx: Tx, sessionId: string, stall: Stall, calls: readonly TurnCall[]): Promise<Stall> {
  const open = calls.find(({ isOpen }) => isOpen);
  if (stall.phase !== null || !open) return stall;
  const newest = (await triesOf(tx, { sessionId, callId: open.callId })).at(-1);
  return { ...stall, phase: newest?.phase ?? null };
}

/** Whoever stops a turn has read what it said so far, and it stays. What broke off by itself is taken back: it says nothing certain. */
async function keptPartial(tx: Tx, sessionId: string, { turnId, outcome }: TurnOutcome): Promise<string | null> {
  return outcome === 'aborted' ? partialOfTurn(tx, sessionId, turnId) : null;
}

async function isFirstOutcome(
  tx: Tx,
  sessionId: string,
  outcome: TurnOutcome,
  { segments, partial, discards, stall }: Findings,
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
      discards: discards && JSON.stringify(discards),
      stall: stall ? JSON.stringify(stall) : null,
      started_at_ms: outcome.startedAtMs,
      ended_at_ms: outcome.endedAtMs,
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return inserted.numInsertedOrUpdatedRows === 1n;
}

function turnEnded(
  { turnId, outcome, reason, usage, source, silent }: TurnOutcome,
  { segments, partial, discards, stall }: Findings,
): NewOutput {
  const text = segments.join(BETWEEN_SEGMENTS);
  const ended = { turnId, outcome, reason, text, partial, usage, source, silent };
  return { kind: 'TurnEnded', key: `${turnId}/ended`, ...ended, ...discards, ...(stall ? { stall } : {}) };
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
    ...(row.discards === null ? {} : fromColumn<Discards>(row.discards)),
    ...(row.stall === null ? {} : { stall: fromColumn<Stall>(row.stall) }),
  };
}
