import type { Selectable } from 'kysely';
import { PROVIDER_WAITS_MS } from '../protocol/liveness.js';
import type { AccountGatesTable, Db, Tx } from './schema.js';
import type { AccountGate, ClosingGate } from './session-store.js';

/** A gate that stood open for so long says nothing about the account any more, and nobody may ever ask it again. */
const FORGOTTEN_AFTER_MS = 60 * 60_000;

export async function findGate(db: Db, account: string): Promise<AccountGate | null> {
  const row = await db.selectFrom('account_gates').selectAll().where('account', '=', account).executeTakeFirst();
  return row ? toGate(row) : null;
}

export async function closeGate(tx: Tx, closing: ClosingGate): Promise<AccountGate> {
  const { account, nowMs } = closing;
  await tx
    .deleteFrom('account_gates')
    .where('until_ms', '<', nowMs - FORGOTTEN_AFTER_MS)
    .execute();
  const gate = closed(await findGate(tx, account), closing);
  const row = { until_ms: gate.untilMs, wait_ms: gate.waitMs, failures: gate.failures };
  await tx
    .insertInto('account_gates')
    .values({ account, ...row })
    .onConflict((conflict) => conflict.column('account').doUpdateSet(row))
    .execute();
  return gate;
}

/** A busy answer to what was asked before the gate closed is no new failure. */
function closed(known: AccountGate | null, { nowMs, retryAfterMs }: ClosingGate): AccountGate {
  const isClosed = known !== null && known.untilMs > nowMs;
  if (isClosed && retryAfterMs === null) return known;
  const failures = (known?.failures ?? 0) + (isClosed ? 0 : 1);
  const waitMs = retryAfterMs === null ? backoffMs(failures) : believed(retryAfterMs);
  const untilMs = nowMs + waitMs;
  return isClosed && known.untilMs >= untilMs ? known : { untilMs, waitMs, failures };
}

function backoffMs(failures: number): number {
  const { shortest, longestBackoff } = PROVIDER_WAITS_MS;
  return Math.min(longestBackoff, shortest * 2 ** (failures - 1));
}

function believed(retryAfterMs: number): number {
  const { shortest, longestNamed } = PROVIDER_WAITS_MS;
  return Math.ceil(Math.min(Math.max(retryAfterMs, shortest), longestNamed));
}

export async function openGate(tx: Tx, { account, nowMs }: { account: string; nowMs: number }): Promise<void> {
  await tx.deleteFrom('account_gates').where('account', '=', account).where('until_ms', '<=', nowMs).execute();
}

function toGate(row: Selectable<AccountGatesTable>): AccountGate {
  return { untilMs: row.until_ms, waitMs: row.wait_ms, failures: row.failures };
}
