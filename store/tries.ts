import type { Evidence } from '../protocol/liveness.js';
import type { NewOutput } from '../protocol/outputs.js';
import type { TryRef } from '../protocol/calls.js';
import { inputTokens } from '../protocol/usage.js';
import { enterChain, findStart, type Start } from './chains.js';
import { type Claims, findClaims, repeatOutput, takeItems } from './claims.js';
import { requireNotDraining } from './drains.js';
import { type Call, fenceBegin, fenceWrite, findCall, requireOpen, requireSameInput, resultOf } from './fence.js';
import { saveSession } from './outputs.js';
import { record } from './record.js';
import type { TriesTable, Tx } from './schema.js';
import {
  assistantEntryId,
  type BeginTry,
  type BegunTry,
  type EarlierTries,
  type EntryContent,
  type FinishTry,
  type TryEnd,
  SessionClosedError,
} from './session-store.js';
import { enterSession, type LockedSession, lockSession } from './sessions.js';
import { discardsOf, endTries, isSameTry, type StoredTry, triesOf } from './streams.js';
import { addEntries, appendInputs } from './transcript.js';

/**
 * The life of a model try. Each function is the body of one transaction.
 *
 * B1 What `beginTry` refuses or finds repeated or finished is decided before its first write, the session's row apart.
 * B2 All tries of a call return the same `base`: what depends on the state of the world was written down by the first.
 */
export async function beginTry(tx: Tx, begin: BeginTry, nowMs: number): Promise<BegunTry> {
  const session = await enterSession(tx, begin, nowMs);
  const call = await findCall(tx, begin.sessionId, begin.callId);
  if (call) requireSameInput(begin, call);
  const result = resultOf(call);
  if (result) return { kind: 'finished', result };
  if (session.status === 'closed') {
    throw new SessionClosedError(`Session ${begin.sessionId} was closed: nothing runs in it any more.`);
  }
  await fenceBegin(tx, begin, call);
  await requireNotDraining(tx, begin, call);
  const start = await findStart(tx, session, begin);
  const claims = await findClaims(tx, begin, start.startsChain);
  const opener = claims.opener === null ? undefined : claims.repeats.get(claims.opener);
  if (opener && (await isFirstCall(tx, begin))) {
    // No turn comes of it, so nobody else would take back what lists show of one that waits.
    const rest = { status: 'idle' as const, queued: 0 };
    await saveSession(tx, session, [repeatOutput(begin, claims.opener!, opener)], rest, nowMs);
    return { kind: 'repeated', first: opener.first };
  }
  return open(tx, { session, begin, call, start, claims, nowMs });
}

/** A repeat ends a turn that it would have opened; later in a turn it is only left out. */
async function isFirstCall(tx: Tx, { sessionId, turnId, callId }: BeginTry): Promise<boolean> {
  const other = await tx
    .selectFrom('calls')
    .select('call_id')
    .where('session_id', '=', sessionId)
    .where('turn_id', '=', turnId)
    .where('call_id', '!=', callId)
    .limit(1)
    .executeTakeFirst();
  return other === undefined;
}

interface Opening {
  session: LockedSession;
  begin: BeginTry;
  call: Call | undefined;
  start: Start;
  claims: Claims;
  nowMs: number;
}

async function open(tx: Tx, { session, begin, call, start, claims, nowMs }: Opening): Promise<BegunTry> {
  const ofOldChain = start.startsChain ? await enterChain(tx, session, nowMs) : [];
  await takeItems(tx, begin, claims);
  const base = await appendInputs(tx, begin, start.base, claims, nowMs);
  const earlier = call ? (await triesOf(tx, begin)).filter((tried) => !isSameTry(tried, begin)) : [];
  const ofEarlierTries = discardsOf(begin, earlier, (tried) =>
    tried.dispatch === begin.dispatch ? 'resumed' : 'redispatched',
  );
  const ofRepeats = [...claims.repeats].map(([place, repeat]) => repeatOutput(begin, place, repeat));
  const outputs = [...ofOldChain, ...begin.outputs, ...ofRepeats, ...ofEarlierTries];
  const chain = start.startsChain ? { chain: begin.chain, chain_base: session.head } : {};
  await saveSession(tx, session, outputs, { status: 'running', agent: begin.agent, ...chain }, nowMs);
  await registerTry(tx, { begin, base, session, nowMs });
  return {
    kind: 'begun',
    base,
    repeats: [...claims.repeats.values()].map((repeat) => repeat.first),
    notices: start.notices,
    earlier: allTogether(earlier, begin.link ?? 0, session.last_input_tokens),
  };
}

function allTogether(earlier: StoredTry[], link: number, estimatedInputTokens: number | null): EarlierTries | null {
  const newest = earlier.at(-1);
  if (!newest) return null;
  const ofModel = earlier.filter((tried) => tried.link === link);
  const firstTokens = ofModel.flatMap(({ firstTokenMs }) => (firstTokenMs === null ? [] : [firstTokenMs]));
  return {
    count: earlier.length,
    hasStreamed: ofModel.some(({ streamed, charsReceived }) => streamed === 1 || charsReceived > 0),
    firstTokenMs: firstTokens.length === 0 ? null : Math.max(...firstTokens),
    phase: newest.phase,
    estimatedInputTokens,
  };
}

interface Registration {
  begin: BeginTry;
  base: string | null;
  session: LockedSession;
  nowMs: number;
}

async function registerTry(tx: Tx, { begin, base, session, nowMs }: Registration): Promise<void> {
  const newest = { newest_dispatch: begin.dispatch, newest_attempt: begin.attempt };
  const call = { session_id: begin.sessionId, call_id: begin.callId };
  await tx
    .insertInto('calls')
    .values({ ...call, turn_id: begin.turnId, ...newest, input_hash: begin.inputHash, base, result: null, closed: 0 })
    .onConflict((conflict) => conflict.columns(['session_id', 'call_id']).doUpdateSet(newest))
    .execute();
  await tx
    .insertInto('tries')
    .values({
      ...call,
      dispatch: begin.dispatch,
      attempt: begin.attempt,
      worker_instance: begin.workerInstance,
      task_token: begin.taskToken,
      started_at_ms: nowMs,
      ended_at_ms: null,
      streamed: 0,
      began_at_seq: session.last_seq,
      phase: null,
      chars_received: 0,
      first_token_ms: null,
      estimated_input_tokens: session.last_input_tokens,
      refused: 0,
      lost: 0,
      link: begin.link ?? 0,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

interface Appending {
  tryRef: TryRef;
  outputs: readonly NewOutput[];
  evidence: Evidence | undefined;
}

export async function appendTryOutputs(tx: Tx, { tryRef, outputs, evidence }: Appending, nowMs: number): Promise<void> {
  const session = await lockSession(tx, tryRef.sessionId);
  requireOpen(await fenceWrite(tx, tryRef), tryRef);
  const shown = { ...toColumns(evidence), ...(outputs.some(isStreamed) ? { streamed: 1 as const } : {}) };
  if (Object.keys(shown).length > 0) await changeTry(tx, tryRef, shown).execute();
  if (session) await saveSession(tx, session, outputs, {}, nowMs);
}

function isStreamed({ kind }: NewOutput): boolean {
  return kind === 'TextDelta' || kind === 'ReasoningDelta';
}

function toColumns(evidence: Evidence | undefined): Partial<TriesTable> {
  if (!evidence) return {};
  const { phase, charsReceived, firstTokenMs } = evidence;
  return { phase, chars_received: charsReceived, first_token_ms: firstTokenMs };
}

function changeTry(tx: Tx, { sessionId, callId, dispatch, attempt }: TryRef, change: Partial<TriesTable>) {
  return tx
    .updateTable('tries')
    .set(change)
    .where('session_id', '=', sessionId)
    .where('call_id', '=', callId)
    .where('dispatch', '=', dispatch)
    .where('attempt', '=', attempt);
}

export async function finishTry(tx: Tx, finish: FinishTry, nowMs: number): Promise<void> {
  const session = await lockSession(tx, finish.sessionId);
  const call = await fenceWrite(tx, finish);
  if (!session || call.result !== null) return; // the same try again: it has its result
  requireOpen(call, finish);
  requireOwnEntry(finish, call);
  const head = finish.result.head;
  const content: EntryContent = { kind: 'assistant', model: finish.model, parts: finish.content };
  await addEntries(tx, [
    { session_id: finish.sessionId, entry_id: head, parent_id: call.base, content: JSON.stringify(content) },
  ]);
  await saveSession(tx, session, finish.outputs, { head, last_input_tokens: inputTokens(finish.usage) }, nowMs);
  await closeCall(tx, finish);
  await endTries(tx, finish, nowMs);
  if (finish.settles) await record(tx, finish.settles, nowMs);
}

/** Mistakes of the caller that would tear the transcript apart. */
function requireOwnEntry({ callId, parentId, result }: FinishTry, call: Call): void {
  if (parentId !== call.base)
    throw new Error(`Call ${callId} began at ${call.base}, so its answer cannot follow ${parentId}.`);
  if (result.head !== assistantEntryId(callId)) throw new Error(`${result.head} is not the entry of call ${callId}.`);
}

async function closeCall(tx: Tx, { sessionId, callId, result }: FinishTry): Promise<void> {
  await tx
    .updateTable('calls')
    .set({ result: JSON.stringify(result), closed: 1 })
    .where('session_id', '=', sessionId)
    .where('call_id', '=', callId)
    .execute();
}

export async function endTry(tx: Tx, ending: TryRef & TryEnd, nowMs: number): Promise<void> {
  const refused = ending.isRefused ? 1 : 0;
  await changeTry(tx, ending, { ...toColumns(ending.evidence), ended_at_ms: nowMs, refused })
    .where('ended_at_ms', 'is', null)
    .execute();
}
