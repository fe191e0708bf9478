import type { DiscardReason, NewOutput, TryNumber } from '../protocol/outputs.js';
import type { Discards } from '../protocol/usage.js';
import type { Tx } from './schema.js';

/** A call of a turn, as far as ending the turn depends on it. */
export interface TurnCall {
  callId: string;
  turnId: string;
  newest: TryNumber;
  isOpen: boolean;
  hasResult: boolean;
}

/** The calls of a turn, or of the whole session those that may still write. */
export async function callsOf(tx: Tx, { sessionId, turnId }: { sessionId: string; turnId?: string }) {
  const calls = tx
    .selectFrom('calls')
    .select(['call_id', 'turn_id', 'newest_dispatch', 'newest_attempt', 'closed'])
    // Results may be long, and nobody here reads them.
    .select((row) => row('result', 'is not', null).as('has_result'))
    .where('session_id', '=', sessionId);
  const rows = await (
    turnId === undefined ? calls.where('closed', '=', 0) : calls.where('turn_id', '=', turnId)
  ).execute();
  return rows.map((row): TurnCall => ({
    callId: row.call_id,
    turnId: row.turn_id,
    newest: { dispatch: row.newest_dispatch, attempt: row.newest_attempt },
    isOpen: row.closed === 0,
    hasResult: Boolean(row.has_result),
  }));
}

/**
 * Closes those of the calls that have no result: their tries may not write any more, and what these showed is taken back, except, for a
 * partial text that is kept, what the newest showed. Returns the outputs that tell so.
 */
export async function closeCalls(
  tx: Tx,
  scope: { sessionId: string; calls: readonly TurnCall[]; keepsPartial: boolean },
  nowMs: number,
): Promise<NewOutput[]> {
  const { sessionId, keepsPartial } = scope;
  const discards: NewOutput[] = [];
  for (const call of scope.calls.filter(({ isOpen }) => isOpen)) {
    const tries = await triesOf(tx, { sessionId, callId: call.callId });
    const taken = keepsPartial ? tries.filter((tried) => !isSameTry(tried, call.newest)) : tries;
    discards.push(...discardsOf(call, taken, () => 'turn_ended'));
    await tx
      .updateTable('calls')
      .set({ closed: 1 })
      .where('session_id', '=', sessionId)
      .where('call_id', '=', call.callId)
      .execute();
    await endTries(tx, { sessionId, callId: call.callId }, nowMs);
  }
  return discards;
}

/** Takes every try of a call that is over off the registry, also those that a crash left there. */
export async function endTries(tx: Tx, call: { sessionId: string; callId: string }, nowMs: number): Promise<void> {
  await tx
    .updateTable('tries')
    .set({ ended_at_ms: nowMs })
    .where('session_id', '=', call.sessionId)
    .where('call_id', '=', call.callId)
    .where('ended_at_ms', 'is', null)
    .execute();
}

export type StoredTry = Awaited<ReturnType<typeof triesOf>>[number];

/** Oldest first. */
export function triesOf(tx: Tx, { sessionId, callId }: { sessionId: string; callId: string }) {
  return tx
    .selectFrom('tries')
    .select(['dispatch', 'attempt', 'streamed', 'phase'])
    .select(['chars_received as charsReceived', 'first_token_ms as firstTokenMs'])
    .select(['estimated_input_tokens as estimatedInputTokens', 'refused', 'link'])
    .where('session_id', '=', sessionId)
    .where('call_id', '=', callId)
    .orderBy('dispatch')
    .orderBy('attempt')
    .execute();
}

/**
 * The `TextStreamDiscarded` of every one of the tries that showed something (P6). Its key names the try, so the journal takes it once,
 * with the reason that came first.
 */
export function discardsOf(
  { callId, turnId }: { callId: string; turnId: string },
  tries: readonly StoredTry[],
  reasonFor: (tried: TryNumber) => DiscardReason,
): NewOutput[] {
  return tries
    .filter(({ streamed }) => streamed === 1)
    .map(({ dispatch, attempt, phase }): NewOutput => {
      const tried = { dispatch, attempt };
      const key = `${callId}/${dispatch}.${attempt}/discarded`;
      return { kind: 'TextStreamDiscarded', key, turnId, callId, try: tried, reason: reasonFor(tried), phase };
    });
}

/** What the turn's calls cost beyond the tries that completed them; `null` when nothing. */
export async function discardedIn(tx: Tx, sessionId: string, calls: readonly TurnCall[]): Promise<Discards | null> {
  const discarded: StoredTry[] = [];
  for (const call of calls.filter(mayHaveDiscards)) {
    const isDiscarded = (tried: StoredTry) => tried.refused === 0 && !(call.hasResult && isSameTry(tried, call.newest));
    discarded.push(...(await triesOf(tx, { sessionId, callId: call.callId })).filter(isDiscarded));
  }
  if (discarded.length === 0) return null;
  const estimates = discarded.map((tried) => tried.estimatedInputTokens);
  return {
    discardedAttempts: discarded.length,
    discardedEstimatedInputTokens: estimates.includes(null) ? null : sum(estimates.map(Number)),
    discardedReceivedChars: sum(discarded.map((tried) => tried.charsReceived)),
  };
}

/** The usual call has one try, and that one completed it. */
function mayHaveDiscards({ newest, hasResult }: TurnCall): boolean {
  return !hasResult || newest.dispatch > 1 || newest.attempt > 1;
}

const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0);

export function isSameTry(left: TryNumber, right: TryNumber | undefined): boolean {
  return right !== undefined && left.dispatch === right.dispatch && left.attempt === right.attempt;
}
