import type { RecordInput } from '../protocol/calls.js';
import type { Call } from './fence.js';
import type { Tx } from './schema.js';
import { type BeginTry, SessionDrainingError } from './session-store.js';

/** The newest change of a chain stands, in whatever order they come. */
export async function recordDrain(tx: Tx, { sessionId, chain, drain }: RecordInput): Promise<void> {
  if (!drain) return;
  const { change, isDraining } = drain;
  const draining = isDraining ? 1 : 0;
  await tx
    .insertInto('drains')
    .values({ session_id: sessionId, chain, change, draining })
    .onConflict((conflict) =>
      conflict.columns(['session_id', 'chain']).doUpdateSet({ change, draining }).where('drains.change', '<', change),
    )
    .execute();
}

/**
 * While its session drains, a call is tried once: what its first try began is finished, and nothing is begun anew. A try that was
 * refused before it began, as for another profile, does not count.
 */
export async function requireNotDraining(tx: Tx, begin: BeginTry, call: Call | undefined): Promise<void> {
  if (!call || (call.newest_dispatch === begin.dispatch && call.newest_attempt === begin.attempt)) return;
  const row = await tx
    .selectFrom('drains')
    .select('draining')
    .where('session_id', '=', begin.sessionId)
    .where('chain', '=', begin.chain)
    .executeTakeFirst();
  if (row?.draining !== 1) return;
  throw new SessionDrainingError(
    `Try ${begin.dispatch}.${begin.attempt} of call ${begin.callId} is not begun: the one before it broke off, and the session drains.`,
  );
}
