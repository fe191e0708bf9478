import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { isAlive } from '../config/instance.js';

/**
 * Names one worker process, uniquely for ever: its identity towards Temporal and in the registry of running tasks.
 * The form `host/pid/random` lets another process of the same machine see that it is gone.
 */
export function createWorkerInstance(): string {
  return `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`;
}

/** True only when the process is known to be gone; a machine elsewhere cannot be judged from here. */
export function isKnownDead(instance: string): boolean {
  const [host, pid] = instance.split('/');
  return host === hostname() && pid !== undefined && !isAlive(Number(pid));
}
