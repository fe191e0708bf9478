import type { DiscardReason, NewOutput, TryNumber } from '../protocol/outputs.js';
import type { Tx } from './schema.js';

/**
 * Closes the calls of a turn, or of the whole session, that have no result: their tries may not write any more,
 * and what these showed is taken back, except, for a partial text that is kept, what the newest showed. Returns the outputs that tell so.
 */
export async function closeCalls(
  tx: Tx,
  scope: { sessionId: string; turnId?: string; keepsPartial?: boolean },
  nowMs: number,
): Promise<NewOutput[]> {
  const calls = await openCalls(tx, scope);
  if (calls.length === 0) return []; // the usual end of a turn: every call was answered
  const discards: NewOutput[] = [];
  for (const call of calls) {
    const { newestDispatch: dispatch, newestAttempt: attempt, ...ids } = call;
    const except = scope.keepsPartial ? { except: { dispatch, attempt } } : {};
    const tries = { sessionId: scope.sessionId, ...ids, ...except };
    discards.push(...(await discardStreams(tx, tries, () => 'turn_ended')));
    await tx
      .updateTable('calls')
      .set({ closed: 1 })
      .where('session_id', '=', scope.sessionId)
      .where('call_id', '=', call.callId)
      .execute();
    await endTries(tx, { sessionId: scope.sessionId, callId: call.callId }, nowMs);
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

function openCalls(tx: Tx, { sessionId, turnId }: { sessionId: string; turnId?: string }) {
  const open = tx
    .selectFrom('calls')
    .select([
      'call_id as callId',
      'turn_id as turnId',
      'newest_dispatch as newestDispatch',
      'newest_attempt as newestAttempt',
    ])
    .where('session_id', '=', sessionId)
    .where('closed', '=', 0);
  return (turnId === undefined ? open : open.where('turn_id', '=', turnId)).execute();
}

export interface CallTries {
  sessionId: string;
  turnId: string;
  callId: string;
  /** The try whose text stays. */
  except?: TryNumber;
}

/**
 * The `TextStreamDiscarded` of every try of an unfinished call that showed something (P6). Its key names the try, so the journal
 * takes it once, with the reason that came first.
 */
export async function discardStreams(
  tx: Tx,
  call: CallTries,
  reasonFor: (tried: TryNumber) => DiscardReason,
): Promise<NewOutput[]> {
  const streams = (await streamedTries(tx, call)).filter((tried) => !isSameTry(tried, call.except));
  return streams.map((tried) => toDiscard(call, tried, reasonFor(tried)));
}

function streamedTries(tx: Tx, { sessionId, callId }: CallTries): Promise<TryNumber[]> {
  return tx
    .selectFrom('tries')
    .select(['dispatch', 'attempt'])
    .where('session_id', '=', sessionId)
    .where('call_id', '=', callId)
    .where('streamed', '=', 1)
    .orderBy('dispatch')
    .orderBy('attempt')
    .execute();
}

function toDiscard({ turnId, callId }: CallTries, tried: TryNumber, reason: DiscardReason): NewOutput {
  const key = `${callId}/${tried.dispatch}.${tried.attempt}/discarded`;
  return { kind: 'TextStreamDiscarded', key, turnId, callId, try: tried, reason, phase: null };
}

export function isSameTry(left: TryNumber, right: TryNumber | undefined): boolean {
  return right !== undefined && left.dispatch === right.dispatch && left.attempt === right.attempt;
}
