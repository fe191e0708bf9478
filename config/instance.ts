import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { findLockHolder } from './instance-lock.js';

export { findLockHolder, takeInstanceLock } from './instance-lock.js';
export type { InstanceLock, LockHolder } from './instance-lock.js';

const DATA_FOLDER = '.vigil';

/** What a running instance tells every other command run in its folder. */
export interface Instance {
  readonly version: 1;
  readonly pid: number;
  readonly startedAt: string;
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly storePath: string;
  readonly uiUrl?: string;
  readonly temporalPid: number;
  readonly workerPid: number;
  readonly logDir: string;
}

/** The data directory that serves `cwd`: the nearest `.vigil` folder here or above, else the one that would be made here. */
export function findDataDir(cwd: string): string {
  for (let folder = resolve(cwd); ; folder = dirname(folder)) {
    const candidate = join(folder, DATA_FOLDER);
    if (isFolder(candidate)) return candidate;
    if (folder === dirname(folder)) return join(resolve(cwd), DATA_FOLDER);
  }
}

/** The instance that runs in this data directory now; `null` when none does, whatever a killed one left behind. */
export function readInstance(dataDir: string): Instance | null {
  if (findLockHolder(dataDir) === null) return null;
  const recorded = parseInstance(readIfPresent(instancePath(dataDir)));
  // A starter holds the lock for a moment before it removes the record of a killed predecessor.
  return recorded !== null && isAlive(recorded.pid) ? recorded : null;
}

/** Only the holder of the instance lock may call this. */
export function writeInstance(dataDir: string, instance: Instance): void {
  const next = `${instancePath(dataDir)}.${process.pid}`;
  writeFileSync(next, `${JSON.stringify(instance, null, 2)}\n`);
  renameSync(next, instancePath(dataDir));
}

/** Only the holder of the instance lock may call this. */
export function removeInstance(dataDir: string): void {
  rmSync(instancePath(dataDir), { force: true });
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it exists and belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function instancePath(dataDir: string): string {
  return join(dataDir, 'instance.json');
}

function readIfPresent(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

// Only version 1 exists, and only this package writes it: a record that does not fit is another version's, so not ours to read.
function parseInstance(text: string | null): Instance | null {
  if (text === null) return null;
  const record = parseJson(text) as Partial<Instance> | null;
  const fits =
    record?.version === 1 &&
    typeof record.pid === 'number' &&
    typeof record.address === 'string' &&
    typeof record.namespace === 'string' &&
    typeof record.taskQueue === 'string' &&
    typeof record.storePath === 'string';
  return fits ? (record as Instance) : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
