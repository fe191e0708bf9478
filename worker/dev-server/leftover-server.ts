/**
 * The server of an earlier instance that was killed: its leash may still be stopping it, and if that was killed too,
 * it runs on. Two servers on one database file must never run, so the next start ends it first.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '../../config/instance.js';
import { SERVER_GRACE_MS } from './leash-messages.js';
import { withProgress, type Report } from './progress.js';
import { runProgram } from './run-program.js';

const POLL_MS = 50;
const PS_LIMIT_MS = 5_000;

export function recordServer(dbPath: string, pid: number): void {
  writeFileSync(recordPath(dbPath), `${pid}\n`);
}

/** Ends the server that the last record names, if it still runs. Only the holder of the instance lock may call this. */
export async function endLeftoverServer(dbPath: string, report: Report): Promise<void> {
  const pid = recordedPid(dbPath);
  if (pid !== null && (await servesFile(pid, dbPath))) {
    report(`stopping the Temporal server that a killed process left behind (pid ${pid})`);
    await withProgress(report, 'waiting for it to end', () => end(pid, dbPath));
  }
  rmSync(recordPath(dbPath), { force: true });
}

async function end(pid: number, dbPath: string): Promise<void> {
  signal(pid, 'SIGTERM');
  if (await endsWithin(pid, dbPath, SERVER_GRACE_MS)) return;
  signal(pid, 'SIGKILL');
  if (!(await endsWithin(pid, dbPath, SERVER_GRACE_MS))) {
    throw new Error(`The Temporal server with pid ${pid} runs on ${dbPath} and cannot be killed.`);
  }
}

async function endsWithin(pid: number, dbPath: string, limitMs: number): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < limitMs; waitedMs += POLL_MS) {
    if (!(await servesFile(pid, dbPath))) return true;
    await sleep(POLL_MS);
  }
  return false;
}

/** Process ids are reused: it is our server only if it was started on this very file. */
async function servesFile(pid: number, dbPath: string): Promise<boolean> {
  return isAlive(pid) && (await commandOf(pid)).includes(dbPath);
}

async function commandOf(pid: number): Promise<string> {
  if (process.platform === 'linux') return readOr(`/proc/${pid}/cmdline`, '').replaceAll('\0', ' ');
  return runProgram('ps', ['-o', 'args=', '-p', String(pid)], { limitMs: PS_LIMIT_MS }).catch(() => '');
}

function recordedPid(dbPath: string): number | null {
  const pid = Number.parseInt(readOr(recordPath(dbPath), ''), 10);
  return Number.isSafeInteger(pid) ? pid : null;
}

function recordPath(dbPath: string): string {
  return `${dbPath}.pid`;
}

function readOr(path: string, otherwise: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return otherwise;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It ended in between, which is what the signal was for.
  }
}
