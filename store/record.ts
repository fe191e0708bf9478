import type { RecordInput, TurnOutcome } from '../protocol/calls.js';
import type { ItemRecord } from '../protocol/fates.js';
import { hasEnded } from './chains.js';
import { addDeadLetters } from './deliveries.js';
import { recordDrain } from './drains.js';
import { endTurn } from './outcomes.js';
import { saveSession } from './outputs.js';
import type { SessionsTable, Tx } from './schema.js';
import { enterSession, type LockedSession } from './sessions.js';

/**
 * What the session tells the store at the end of a turn and in between. It comes from a local activity, which a frozen worker
 * writes again when it thaws, so the same input may arrive long after newer ones.
 */
export async function record(tx: Tx, input: RecordInput, nowMs: number): Promise<void> {
  const session = await enterSession(tx, input, nowMs);
  await recordItems(tx, input.sessionId, input.items);
  await recordDrain(tx, input);
  await addDeadLetters(tx, input.sessionId, input.undelivered ?? [], nowMs);
  const ended: TurnOutcome[] = [];
  const outputs = [...input.outputs];
  for (const outcome of input.outcomes) {
    const ofTurn = await endTurn(tx, input.sessionId, outcome, nowMs);
    if (ofTurn.length > 0) ended.push(outcome);
    outputs.push(...ofTurn);
  }
  const turns = ended.length > 0 ? { turns: session.turns + ended.length } : {};
  const written = await saveSession(tx, session, outputs, turns, nowMs);
  if (input.status === 'closed' || (await isLatest(tx, session, input, written > 0))) {
    await project(tx, session, input, newestOf(ended));
  }
}

/**
 * An older record must not make a list show an older state than it showed. Turns are told apart by their starts, which the session gives:
 * their ends may come from the clocks of several workers.
 */
async function isLatest(tx: Tx, session: LockedSession, input: RecordInput, broughtNew: boolean): Promise<boolean> {
  const isRepeat = !broughtNew && input.outputs.length + input.outcomes.length > 0;
  const newest = newestOf(input.outcomes);
  const isOvertaken = newest !== undefined && newest.startedAtMs < (session.last_turn_started_at_ms ?? 0);
  if (isRepeat || isOvertaken) return false;
  return session.chain === input.chain || !(await hasEnded(tx, input.sessionId, input.chain));
}

/** `running` is shown by the try that begins: what a record says of it may be over, for the turn's last call ends it without a record. */
async function project(
  tx: Tx,
  session: LockedSession,
  { sessionId, agent, status, queued }: RecordInput,
  ended?: TurnOutcome,
): Promise<void> {
  const stands: Partial<SessionsTable> = status === 'running' || session.status === 'closed' ? {} : { status };
  const outcome: Partial<SessionsTable> = ended
    ? { last_outcome: ended.outcome, last_turn_started_at_ms: ended.startedAtMs }
    : {};
  await tx
    .updateTable('sessions')
    .set({ agent, queued, ...stands, ...outcome })
    .where('session_id', '=', sessionId)
    .execute();
}

function newestOf(outcomes: readonly TurnOutcome[]): TurnOutcome | undefined {
  return outcomes.reduce<TurnOutcome | undefined>(
    (newest, each) => (newest && newest.startedAtMs > each.startedAtMs ? newest : each),
    undefined,
  );
}

/** An item ends once and in one turn: what is known of it is only added to. */
async function recordItems(tx: Tx, sessionId: string, items: readonly ItemRecord[]): Promise<void> {
  const byId = new Map<string, ItemRecord>();
  for (const item of items) if ((byId.get(item.itemId)?.fate ?? 'pending') === 'pending') byId.set(item.itemId, item);
  if (byId.size === 0) return;
  await tx
    .insertInto('items')
    .values(
      [...byId.values()].map((item) => ({
        session_id: sessionId,
        item_id: item.itemId,
        turn_id: item.turnId,
        fate: item.fate,
        content_hash: item.contentHash,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['session_id', 'item_id']).doUpdateSet((row) => ({
        turn_id: row.fn.coalesce('items.turn_id', 'excluded.turn_id'),
        fate: row
          .case()
          .when('items.fate', '=', 'pending')
          .then(row.ref('excluded.fate'))
          .else(row.ref('items.fate'))
          .end(),
      })),
    )
    .execute();
}
