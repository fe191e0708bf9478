import { randomUUID } from 'node:crypto';
import { readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isAlive } from '../config/instance.js';

/**
 * Names one process, uniquely for ever: a worker towards Temporal and in the registry of running tasks, a supervisor in its lease.
 * The form `machine/pid/random` lets another process of the same machine see that it is gone.
 */
export function createProcessName(): string {
  return `${machine()}/${process.pid}/${randomUUID().slice(0, 8)}`;
}

/** True only when the process is known to be gone; a machine elsewhere cannot be judged from here. */
export function isKnownDead(name: string): boolean {
  const [host, pid] = name.split('/');
  return host === machine() && pid !== undefined && !isAlive(Number(pid));
}

/** Two containers may share a host name without seeing each other's processes. */
function machine(): string {
  try {
    return `${hostname()}.${readlinkSync('/proc/self/ns/pid').replace(/\D/g, '')}`;
  } catch {
    return hostname();
  }
}
