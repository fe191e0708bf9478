import type { Output } from '../protocol/outputs.js';
import { type Db, fromColumn, type Tx } from './schema.js';
import { endTries, isSameTry } from './streams.js';

/** What the unfinished call of a turn shows; `null` when nothing. */
export async function partialOfTurn(tx: Tx, sessionId: string, turnId: string): Promise<string | null> {
  const open = await tx
    .selectFrom('calls')
    .select('call_id')
    .where('session_id', '=', sessionId)
    .where('turn_id', '=', turnId)
    .where('result', 'is', null)
    .executeTakeFirst();
  const { text } = open ? await shownText(tx, sessionId, open.call_id) : NOTHING;
  return text === '' ? null : text;
}

/**
 * What a stopped call said, for the transcript. Closes it first: whoever still runs it adds nothing from here on, so that all tries of
 * the call that asks read the same. A call that came to its end after all said the whole of it.
 */
export async function interruptedText(tx: Tx, sessionId: string, callId: string, nowMs: number): Promise<ShownText> {
  await tx
    .updateTable('calls')
    .set({ closed: 1 })
    .where('session_id', '=', sessionId)
    .where('call_id', '=', callId)
    .execute();
  await endTries(tx, { sessionId, callId }, nowMs);
  return shownText(tx, sessionId, callId);
}

export interface ShownText {
  text: string;
  /** The call came to its end: that is its answer. */
  isWhole: boolean;
}

const NOTHING: ShownText = { text: '', isWhole: false };

/** The text of a call that stands in the journal: of its answer, or else of its newest try; the older ones were taken back. */
async function shownText(db: Db, sessionId: string, callId: string): Promise<ShownText> {
  const newest = await newestTry(db, sessionId, callId);
  if (!newest) return NOTHING;
  const rows = await db
    .selectFrom('outputs')
    .select('body')
    .where('session_id', '=', sessionId)
    .where('seq', '>', newest.began_at_seq)
    .where('kind', 'in', ['TextDelta', 'TextOutput'])
    .orderBy('seq')
    .execute();
  let shown = '';
  for (const output of rows.map((row) => fromColumn<Output>(row.body))) {
    if (!('callId' in output) || output.callId !== callId || !isSameTry(output.try, newest)) continue;
    if (output.kind === 'TextOutput') return { text: output.text, isWhole: true };
    if (output.kind === 'TextDelta') shown += output.text;
  }
  return { text: shown, isWhole: false };
}

async function newestTry(db: Db, sessionId: string, callId: string) {
  return db
    .selectFrom('tries')
    .select(['dispatch', 'attempt', 'began_at_seq'])
    .where('session_id', '=', sessionId)
    .where('call_id', '=', callId)
    .orderBy('dispatch', 'desc')
    .orderBy('attempt', 'desc')
    .limit(1)
    .executeTakeFirst();
}
