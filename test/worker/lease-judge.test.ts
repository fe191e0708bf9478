import type { Lease } from '../../store/session-store.js';
import { LeaseJudge } from '../../worker/lease-judge.js';

const INTERVAL_MS = 1_000;

function aLease(renewals: number, leaseId = 'lease-1'): Lease {
  return { leaseId, renewals, supervisor: 's', namespace: 'n', taskQueue: 'q', worker: null, takenBy: null };
}

/** A judge whose time the test moves. */
function aJudge() {
  const judge = new LeaseJudge({ leaseMs: 5_000, intervalMs: INTERVAL_MS });
  let nowMs = 1_000_000;
  const look = (leases: Lease[], passedMs = INTERVAL_MS) => {
    nowMs += passedMs;
    return judge.expired(leases, nowMs).map((lease) => lease.leaseId);
  };
  return { judge, look };
}

test('a lease that stands still for the lease time has expired, and not before', () => {
  const { look } = aJudge();
  const seen = Array.from({ length: 6 }, () => look([aLease(7)]));
  expect(seen).toEqual([[], [], [], [], [], ['lease-1']]);
});

test('a lease that moves never expires, and one beside it does', () => {
  const { look } = aJudge();
  for (let renewals = 0; renewals < 5; renewals++) look([aLease(renewals), aLease(1, 'still')]);
  expect(look([aLease(9), aLease(1, 'still')])).toEqual(['still']);
});

test('a judge that was itself frozen condemns nobody when it wakes up', () => {
  const { look } = aJudge();
  look([aLease(1)]);
  expect(look([aLease(1)], 3_600_000)).toEqual([]);
  expect(look([aLease(2)])).toEqual([]);
});

test('time in which the store did not answer counts for nobody', () => {
  const { judge, look } = aJudge();
  for (let looks = 0; looks < 5; looks++) look([aLease(1)]);
  judge.startAnew();
  expect(look([aLease(1)], 60_000)).toEqual([]);
  expect(look([aLease(1)])).toEqual([]);
});
