import type { Selectable } from 'kysely';
import type { CallModelResult, TryRef } from '../protocol/calls.js';
import type { TryNumber } from '../protocol/outputs.js';
import { type CallsTable, fromColumn, type Tx } from './schema.js';
import { type BeginTry, StaleTryError, TranscriptMissingError } from './session-store.js';
import { isSameTry } from './streams.js';

/** I3: who may still write for a call. All of it is read under the session's lock. */
export type Call = Selectable<CallsTable>;

export function findCall(tx: Tx, sessionId: string, callId: string): Promise<Call | undefined> {
  return tx
    .selectFrom('calls')
    .selectAll()
    .where('session_id', '=', sessionId)
    .where('call_id', '=', callId)
    .executeTakeFirst();
}

export function resultOf(call: Call | undefined): CallModelResult | null {
  return call?.result == null ? null : fromColumn<CallModelResult>(call.result);
}

/**
 * The same id with other inputs: the session was set back (its server was restored from an older copy) and gives its numbers anew.
 * The result that is known here answers another question.
 */
export function requireSameInput({ sessionId, callId, head, inputHash }: BeginTry, call: Call): void {
  if (call.input_hash === inputHash) return;
  throw new TranscriptMissingError(
    head ?? '(none)',
    `The store knows call ${callId} of session ${sessionId} with other inputs: it is newer than the session itself ` +
      `(was Temporal's data restored from an older copy?). Restore the store of the same time, ` +
      `or end the session's workflow and start it anew: it then continues from what the store holds.`,
  );
}

/** A try may begin when it is newer than every try of its call, or is the newest one's own repeat. */
export async function fenceBegin(tx: Tx, begin: BeginTry, call: Call | undefined): Promise<void> {
  if (!call) {
    if (await hasEndedTurn(tx, begin.sessionId, begin.turnId)) throw stale(begin, `turn ${begin.turnId} has ended`);
    return;
  }
  if (call.closed === 1) throw stale(begin, `turn ${call.turn_id} has ended`);
  const order = compareTries(begin, newestOf(call));
  if (order < 0) throw stale(begin, `a newer try has begun`);
  if (order === 0) await requireSameTask(tx, begin);
}

/** Returns the call for what else the write needs of it. */
export async function fenceWrite(tx: Tx, tryRef: TryRef): Promise<Call> {
  const call = await findCall(tx, tryRef.sessionId, tryRef.callId);
  if (!call) throw stale(tryRef, 'it has not begun in this store');
  if (!isSameTry(tryRef, newestOf(call))) throw stale(tryRef, 'a newer try has begun');
  return call;
}

export function requireOpen(call: Call, tryRef: TryRef): void {
  if (call.closed === 1)
    throw stale(tryRef, call.result === null ? `turn ${call.turn_id} has ended` : 'the call has its result');
}

export async function hasEndedTurn(tx: Tx, sessionId: string, turnId: string): Promise<boolean> {
  const outcome = await tx
    .selectFrom('outcomes')
    .select('turn_id')
    .where('session_id', '=', sessionId)
    .where('turn_id', '=', turnId)
    .executeTakeFirst();
  return outcome !== undefined;
}

/** Two tasks under one number are two processes; only the one that came first is known. */
async function requireSameTask(tx: Tx, begin: BeginTry): Promise<void> {
  const known = await tx
    .selectFrom('tries')
    .select('task_token')
    .where('session_id', '=', begin.sessionId)
    .where('call_id', '=', begin.callId)
    .where('dispatch', '=', begin.dispatch)
    .where('attempt', '=', begin.attempt)
    .executeTakeFirst();
  if (known?.task_token !== begin.taskToken) throw stale(begin, 'another task has begun it');
}

function newestOf(call: Call): TryNumber {
  return { dispatch: call.newest_dispatch, attempt: call.newest_attempt };
}

function compareTries(left: TryNumber, right: TryNumber): number {
  return left.dispatch - right.dispatch || left.attempt - right.attempt;
}

function stale(tryRef: TryRef, why: string): StaleTryError {
  return new StaleTryError(`Try ${tryRef.dispatch}.${tryRef.attempt} of call ${tryRef.callId} may not write: ${why}.`);
}
