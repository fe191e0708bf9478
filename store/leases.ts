import type { Selectable } from 'kysely';
import { type Db, fromColumn, type LeasesTable, type Tx } from './schema.js';
import type { Lease, LeasedWorker, NewLease, Renewal, TakeOver } from './session-store.js';

/** No function here looks at a clock to decide: who judges a lease compares counters that it saw. */
export async function takeLease(tx: Tx, lease: NewLease, nowMs: number): Promise<void> {
  await tx
    .insertInto('leases')
    .values({
      lease_id: lease.leaseId,
      supervisor: lease.supervisor,
      namespace: lease.namespace,
      task_queue: lease.taskQueue,
      worker: null,
      renewals: 0,
      state: 'held',
      taken_by: null,
      created_at_ms: nowMs,
    })
    .onConflict((conflict) => conflict.column('lease_id').doNothing())
    .execute();
}

export async function renewLease(tx: Tx, { leaseId, renewals, worker }: Renewal): Promise<boolean> {
  const renewed = await tx
    .updateTable('leases')
    .set({ renewals, worker: worker && JSON.stringify(worker) })
    .where('lease_id', '=', leaseId)
    .where('state', '=', 'held')
    .executeTakeFirst();
  return renewed.numUpdatedRows > 0n;
}

export async function takeOverLease(tx: Tx, { leaseId, renewals, by }: TakeOver): Promise<boolean> {
  await tx
    .updateTable('leases')
    .set({ state: 'taken', taken_by: by })
    .where('lease_id', '=', leaseId)
    .where('state', '=', 'held')
    .where('renewals', '=', renewals)
    .execute();
  return (await findLease(tx, leaseId))?.takenBy === by;
}

export async function dropLease(tx: Tx, leaseId: string): Promise<void> {
  await tx.deleteFrom('leases').where('lease_id', '=', leaseId).execute();
}

export async function findLease(db: Db, leaseId: string): Promise<Lease | null> {
  const row = await db.selectFrom('leases').selectAll().where('lease_id', '=', leaseId).executeTakeFirst();
  return row ? toLease(row) : null;
}

export async function listLeases(db: Db): Promise<Lease[]> {
  return (await db.selectFrom('leases').selectAll().orderBy('created_at_ms').orderBy('lease_id').execute()).map(
    toLease,
  );
}

function toLease(row: Selectable<LeasesTable>): Lease {
  return {
    leaseId: row.lease_id,
    supervisor: row.supervisor,
    namespace: row.namespace,
    taskQueue: row.task_queue,
    worker: row.worker === null ? null : fromColumn<LeasedWorker>(row.worker),
    renewals: row.renewals,
    takenBy: row.taken_by,
  };
}
