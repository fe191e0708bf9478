import type { SessionStore } from '../store/session-store.js';

const LOOK_MS = 1_000;
/** A temporary failure, by the convention for exit codes: another worker under another name will do. */
const LEFT = 75;

/**
 * Ends this process as soon as the lease that it runs under is somebody else's: its tasks were given to others while it was frozen, the
 * server fences it, and nothing that it still does counts. At once, because every task that it took meanwhile would wait for it.
 * A store that does not answer says nothing.
 */
export function watchLease(store: SessionStore, leaseId: string, instance: string): void {
  const look = async () => {
    const lease = await store.findLease(leaseId);
    const isOurs = lease !== null && lease.takenBy === null && (lease.worker?.instance ?? instance) === instance;
    if (isOurs) return;
    process.stderr.write(`vigil worker: lease ${leaseId} is not this worker's any more; it leaves\n`);
    process.exit(LEFT);
  };
  setInterval(() => void look().catch(() => undefined), LOOK_MS).unref();
}
