/**
 * A lock made of a folder, for the time before any package is installed.
 *
 * I1. Making the folder is atomic, so at most one process holds it.
 * I2. A lock whose holder is gone is taken away only under a second folder, after looking again:
 *     otherwise two that found it stale could take away each other's fresh one.
 */
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 200;
const WAIT_LIMIT_MS = 15 * 60_000;
/** A holder writes its pid at once, and a removal takes no time: older than this and without a pid, it was killed in between. */
const UNFINISHED_AFTER_MS = 5_000;

/** Runs `work` while holding the lock; tells whom it waits for. */
export async function withLock(path, say, work) {
  await take(path, say);
  try {
    return await work();
  } finally {
    rmSync(path, { recursive: true, force: true });
  }
}

async function take(path, say) {
  mkdirSync(dirname(path), { recursive: true });
  let announced = false;
  for (let waitedMs = 0; !tryTake(path); waitedMs += POLL_MS) {
    if (removeIfStale(path)) continue;
    if (!announced) say(`waiting for another process that prepares this folder (pid ${readPid(path) ?? 'unknown'}) …`);
    announced = true;
    if (waitedMs > WAIT_LIMIT_MS) throw new Error(`${path} is still held; remove it if no such process runs.`);
    await sleep(POLL_MS);
  }
}

function tryTake(path) {
  if (!tryMakeFolder(path)) return false;
  writeFileSync(join(path, 'pid'), `${process.pid}`);
  return true;
}

function removeIfStale(path) {
  if (!isStale(path)) return false;
  const guard = `${path}.removing`;
  if (!tryMakeFolder(guard)) {
    if (ageMs(guard) > UNFINISHED_AFTER_MS) rmSync(guard, { recursive: true, force: true });
    return false;
  }
  try {
    if (isStale(path)) rmSync(path, { recursive: true, force: true });
  } finally {
    rmSync(guard, { recursive: true, force: true });
  }
  return true;
}

function isStale(path) {
  const pid = readPid(path);
  return pid === null ? ageMs(path) > UNFINISHED_AFTER_MS : !isAlive(pid);
}

function tryMakeFolder(path) {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function ageMs(path) {
  const made = statSync(path, { throwIfNoEntry: false });
  return made === undefined ? 0 : Date.now() - made.ctimeMs;
}

function readPid(path) {
  try {
    return Number.parseInt(readFileSync(join(path, 'pid'), 'utf8'), 10) || null;
  } catch {
    return null;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
