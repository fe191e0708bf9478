import type { Lease } from '../store/session-store.js';

interface Watched {
  renewals: number;
  unchangedMs: number;
}

/**
 * Tells which leases have expired: those whose counter this judge saw stand still for the lease time, looking again and again.
 *
 * J1 Nobody's clock is compared with another's: only the judge's own running time between two looks counts.
 * J2 A pause of the judge condemns nobody: two looks count as at most two intervals, however far apart they were.
 * J3 Time in which the judge's own renewals failed does not count: a store that is away looks the same from both sides.
 */
export class LeaseJudge {
  #watched = new Map<string, Watched>();
  #lookedMs: number | null = null;

  constructor(private readonly times: { leaseMs: number; intervalMs: number }) {}

  /** To be called after an own renewal succeeded, with everybody else's leases. */
  expired(leases: readonly Lease[], nowMs: number): Lease[] {
    const { leaseMs, intervalMs } = this.times;
    const passedMs = this.#lookedMs === null ? 0 : Math.min(nowMs - this.#lookedMs, 2 * intervalMs);
    this.#lookedMs = nowMs;
    this.#watched = new Map(leases.map((lease) => [lease.leaseId, this.#next(lease, passedMs)]));
    return leases.filter((lease) => this.#watched.get(lease.leaseId)!.unchangedMs >= leaseMs);
  }

  /** An own renewal failed, or the store did not answer. */
  startAnew(): void {
    this.#watched.clear();
    this.#lookedMs = null;
  }

  #next({ leaseId, renewals }: Lease, passedMs: number): Watched {
    const known = this.#watched.get(leaseId);
    return { renewals, unchangedMs: known?.renewals === renewals ? known.unchangedMs + passedMs : 0 };
  }
}
