import type { DiscardReason, NewOutput, TryNumber } from '../protocol/outputs.js';
import type { Tx } from './schema.js';

/**
 * Closes the calls of a turn, or of the whole session, that have no result: their tries may not write any more,
 * and what these showed is taken back. Returns the outputs that tell so.
 */
export async function closeCalls(tx: Tx, scope: { sessionId: string; turnId?: string }): Promise<NewOutput[]> {
  const calls = await openCalls(tx, scope);
  if (calls.length === 0) return []; // the usual end of a turn: every call was answered
  const discards: NewOutput[] = [];
  for (const call of calls) {
    discards.push(...(await discardStreams(tx, { sessionId: scope.sessionId, ...call }, () => 'turn_ended')));
    await tx
      .updateTable('calls')
      .set({ closed: 1 })
      .where('session_id', '=', scope.sessionId)
      .where('call_id', '=', call.callId)
      .execute();
  }
  return discards;
}

function openCalls(tx: Tx, { sessionId, turnId }: { sessionId: string; turnId?: string }) {
  const open = tx
    .selectFrom('calls')
    .select(['call_id as callId', 'turn_id as turnId'])
    .where('session_id', '=', sessionId)
    .where('closed', '=', 0);
  return (turnId === undefined ? open : open.where('turn_id', '=', turnId)).execute();
}

export interface CallTries {
  sessionId: string;
  turnId: string;
  callId: string;
  /** The try that runs now: its own text stays. */
  except?: TryNumber;
}

/** Marks every try of an unfinished call that showed something, and returns its `TextStreamDiscarded` for the journal (P6). */
export async function discardStreams(
  tx: Tx,
  call: CallTries,
  reasonFor: (tried: TryNumber) => DiscardReason,
): Promise<NewOutput[]> {
  const streams = (await openStreams(tx, call)).filter((tried) => !isSameTry(tried, call.except));
  for (const { dispatch, attempt } of streams) {
    await tx
      .updateTable('tries')
      .set({ discarded: 1 })
      .where('session_id', '=', call.sessionId)
      .where('call_id', '=', call.callId)
      .where('dispatch', '=', dispatch)
      .where('attempt', '=', attempt)
      .execute();
  }
  return streams.map((tried) => toDiscard(call, tried, reasonFor(tried)));
}

function openStreams(tx: Tx, { sessionId, callId }: CallTries): Promise<TryNumber[]> {
  return tx
    .selectFrom('tries')
    .select(['dispatch', 'attempt'])
    .where('session_id', '=', sessionId)
    .where('call_id', '=', callId)
    .where('streamed', '=', 1)
    .where('discarded', '=', 0)
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
