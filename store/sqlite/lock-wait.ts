import { setTimeout as delay } from 'node:timers/promises';
import { isLocked } from './storage-errors.js';

/** How long a transaction waits for other processes before the store counts as unavailable. */
export const LOCK_WAIT_MS = 5_000;
/** SQLite's own wait blocks the event loop, so it is short: it spans one ordinary commit of another process. */
export const BUSY_TIMEOUT_MS = 100;
/** Between two attempts other work of this process runs; at random, so that waiting processes do not meet again and again. */
const PAUSE_MS = { least: 1, most: 25 };

export function pauseBetweenAttempts(): Promise<void> {
  return delay(PAUSE_MS.least + Math.random() * (PAUSE_MS.most - PAUSE_MS.least));
}

/** Repeats what failed only because another process held the lock. The last failure is thrown as it came. */
export async function untilUnlocked<T>(attempt: () => Promise<T>): Promise<T> {
  const deadlineMs = performance.now() + LOCK_WAIT_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!isLocked(error) || performance.now() > deadlineMs) throw error;
      await pauseBetweenAttempts();
    }
  }
}
