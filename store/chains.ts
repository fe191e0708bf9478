import type { NewOutput } from '../protocol/outputs.js';
import type { Tx } from './schema.js';
import { type BeginTry, StaleTryError, TranscriptMissingError } from './session-store.js';
import type { LockedSession } from './sessions.js';
import { callsOf, closeCalls } from './streams.js';

/**
 * A chain is one life of a session's workflow. When the workflow ended and the id was started anew, the new chain knows no head:
 * its `null` then means where the transcript stood when it began (`chain_base`), not an empty transcript.
 */
export interface Start {
  /** Entry that the call's inputs follow. */
  base: string | null;
  startsChain: boolean;
  notices: string[];
}

/** Reads only, so that a call that turns out to be a repeat has changed nothing. */
export async function findStart(tx: Tx, session: LockedSession, begin: BeginTry): Promise<Start> {
  const startsChain = session.chain !== begin.chain;
  if (startsChain && (await hasEnded(tx, session.session_id, begin.chain))) {
    throw new StaleTryError(`Chain ${begin.chain} of session ${begin.sessionId} was replaced by a newer one.`);
  }
  if (begin.head !== null) {
    await requireEntry(tx, begin.sessionId, begin.head);
    return { base: begin.head, startsChain, notices: [] };
  }
  const base = startsChain ? session.head : session.chain_base;
  return { base, startsChain, notices: base === null ? [] : [RESTARTED] };
}

const RESTARTED = 'The session was started anew after its workflow had ended. It continues from the transcript it had.';

/** Nothing of the chain before may write any more, and what it left unfinished on people's screens goes. */
export async function enterChain(tx: Tx, session: LockedSession, nowMs: number): Promise<NewOutput[]> {
  await tx
    .insertInto('ended_chains')
    .values({ session_id: session.session_id, chain: session.chain })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await tx
    .updateTable('items')
    .set({ turn_id: null })
    .where('session_id', '=', session.session_id)
    .where('fate', '=', 'pending')
    .execute();
  const sessionId = session.session_id;
  return closeCalls(tx, { sessionId, calls: await callsOf(tx, { sessionId }), keepsPartial: false }, nowMs);
}

export async function hasEnded(tx: Tx, sessionId: string, chain: string): Promise<boolean> {
  const ended = await tx
    .selectFrom('ended_chains')
    .select('chain')
    .where('session_id', '=', sessionId)
    .where('chain', '=', chain)
    .executeTakeFirst();
  return ended !== undefined;
}

async function requireEntry(tx: Tx, sessionId: string, entryId: string): Promise<void> {
  const entry = await tx
    .selectFrom('entries')
    .select('entry_id')
    .where('session_id', '=', sessionId)
    .where('entry_id', '=', entryId)
    .executeTakeFirst();
  if (!entry) throw transcriptMissing(sessionId, entryId);
}

export function transcriptMissing(sessionId: string, head: string): TranscriptMissingError {
  return new TranscriptMissingError(
    head,
    `The store does not hold the transcript of session ${sessionId} at ${head}: it is an older copy, or another store. ` +
      `Restore the right store, then resume the session.`,
  );
}
