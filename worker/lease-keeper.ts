import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Lease, LeasedWorker, SessionStore } from '../store/session-store.js';
import type { Report } from './dev-server/progress.js';
import { LeaseJudge } from './lease-judge.js';
import { createProcessName, isKnownDead } from './process-name.js';

export interface LeaseKeeping {
  readonly store: SessionStore;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly leaseMs: number;
  /** The lease was taken over or is gone: the worker under it must end. May not throw. */
  readonly onLost: () => void;
  /** Somebody's worker is lost, and this supervisor is to end it: perhaps not the only one. May not throw. */
  readonly onExpired: (lease: Lease) => void;
  readonly report: Report;
}

const LONGEST_INTERVAL_MS = 1_000;

/**
 * A supervisor's lease, renewed for as long as it lives, and its eye on everybody else's.
 *
 * L1 A lease that was lost is never held again: the next worker gets a new one.
 * L2 A store that does not answer costs nothing but the sight of others.
 * L3 A lease that somebody took over and did not drop within the lease time is taken care of by everybody: the taker may be dead.
 */
export class LeaseKeeper {
  readonly #keeping: LeaseKeeping;
  readonly #supervisor = createProcessName();
  readonly #judge: LeaseJudge;
  readonly #intervalMs: number;
  readonly #stopping = new AbortController();
  #leaseId: string | null = null;
  #lostIds: string[] = [];
  /** Leases that were handed to `onExpired`, so that each is once. */
  #handedOn = new Set<string>();
  #renewals = 0;
  #worker: LeasedWorker | null = null;
  #isStoreSilent = false;
  #watching: Promise<void> = Promise.resolve();

  constructor(keeping: LeaseKeeping) {
    this.#keeping = keeping;
    this.#intervalMs = Math.min(LONGEST_INTERVAL_MS, keeping.leaseMs / 10);
    this.#judge = new LeaseJudge({ leaseMs: keeping.leaseMs, intervalMs: this.#intervalMs });
  }

  get worker(): LeasedWorker | null {
    return this.#worker;
  }

  /** Answers the lease that the next worker runs under. To be called while no worker runs. */
  async hold(): Promise<string> {
    const { store, namespace, taskQueue } = this.#keeping;
    this.#worker = null;
    if (this.#leaseId !== null && !(await this.#renew())) this.#forget();
    // Nothing runs under the lost ones any more, so nobody needs to hold them down.
    for (const lostId of this.#lostIds.splice(0)) await store.dropLease(lostId);
    if (this.#leaseId !== null) return this.#leaseId;
    const leaseId = randomUUID();
    await store.takeLease({ leaseId, supervisor: this.#supervisor, namespace, taskQueue });
    this.#leaseId = leaseId;
    return leaseId;
  }

  /** Who runs under the lease from now on, or what more is known of it. */
  async show(worker: LeasedWorker | null): Promise<void> {
    this.#worker = worker;
    // A failure shows at the next look.
    if (this.#leaseId !== null) await this.#renew().catch(() => false);
  }

  start(): void {
    this.#watching = this.#watch();
  }

  /** To be called when no worker runs. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#watching;
    const ids = [...this.#lostIds, ...(this.#leaseId === null ? [] : [this.#leaseId])];
    await Promise.all(ids.map((id) => this.#keeping.store.dropLease(id).catch(() => undefined)));
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#look().catch((error: unknown) => this.#onSilence(error));
      await sleep(this.#intervalMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    if (this.#leaseId === null) return;
    if (!(await this.#renew())) return this.#onLost();
    const others = (await this.#keeping.store.leases()).filter(({ leaseId }) => leaseId !== this.#leaseId);
    this.#isStoreSilent = false;
    const expired = this.#judge.expired(others, performance.now());
    const due = others.filter((other) => expired.includes(other) || isOver(other));
    this.#handedOn = new Set(due.map(({ leaseId }) => leaseId).filter((leaseId) => this.#handedOn.has(leaseId)));
    for (const lease of due.filter(({ leaseId }) => !this.#handedOn.has(leaseId))) await this.#takeOver(lease);
  }

  async #takeOver(lease: Lease): Promise<void> {
    const { leaseId, renewals, takenBy } = lease;
    const by = this.#leaseId;
    if (by === null || lease.namespace !== this.#keeping.namespace) return;
    const isMine = takenBy !== null || (await this.#keeping.store.takeOverLease({ leaseId, renewals, by }));
    if (!isMine) return;
    this.#handedOn.add(leaseId);
    this.#keeping.onExpired(lease);
  }

  #renew(): Promise<boolean> {
    return this.#keeping.store.renewLease({
      leaseId: this.#leaseId ?? '',
      renewals: ++this.#renewals,
      worker: this.#worker,
    });
  }

  #onLost(): void {
    this.#judge.startAnew();
    this.#keeping.report('the lease was taken over by another supervisor: the worker starts anew');
    this.#forget();
    this.#keeping.onLost();
  }

  #forget(): void {
    if (this.#leaseId !== null) this.#lostIds.push(this.#leaseId);
    this.#leaseId = null;
  }

  #onSilence(error: unknown): void {
    this.#judge.startAnew();
    if (!this.#isStoreSilent) this.#keeping.report(`the lease cannot be renewed for now: ${(error as Error).message}`);
    this.#isStoreSilent = true;
  }
}

/** Both processes are gone, and this machine can tell. */
function isOver({ supervisor, worker }: Lease): boolean {
  return isKnownDead(supervisor) && (worker === null || isKnownDead(worker.instance));
}
