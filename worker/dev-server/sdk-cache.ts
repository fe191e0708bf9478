import { existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { compiledPath } from '../../config/package-root.js';
import { withProgress, type Report } from './progress.js';
import { runProgram } from './run-program.js';

const DOWNLOAD_LIMIT_MS = 300_000;
// A host that cannot be reached must not hold up the next source for the minutes a TCP connect may take.
const DOWNLOAD_BEGINS_WITHIN_MS = 15_000;

/** The name under which SDK 1.24 caches the CLI (its core's `ephemeral_server`, `get_or_download`). */
export function sdkCachePath(): string {
  const { version } = createRequire(import.meta.url)('@temporalio/testing/package.json') as { version: string };
  return join(tmpdir(), `temporal-sdk-typescript-${version}${process.platform === 'win32' ? '.exe' : ''}`);
}

export async function findInSdkCache(path = sdkCachePath()): Promise<string> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) throw new Error(`${path} does not exist`);
  // The folder is shared: a binary that another user put there is not run.
  if (process.getuid !== undefined && found.uid !== process.getuid())
    throw new Error(`${path} belongs to another user`);
  return path;
}

export async function downloadWithSdk(report: Report, signal?: AbortSignal): Promise<string> {
  const path = sdkCachePath();
  const stop = new AbortController();
  signal?.addEventListener('abort', () => stop.abort(), { once: true });
  const watch = abortUnlessBegun(path, stop);
  await withProgress(report, 'downloading the Temporal CLI with the SDK', () =>
    runProgram(process.execPath, [compiledPath('worker/dev-server/sdk-download.js')], {
      limitMs: DOWNLOAD_LIMIT_MS,
      signal: stop.signal,
    }),
  ).catch((error: unknown) => {
    throw watch.expired ? new Error(`no download began within ${DOWNLOAD_BEGINS_WITHIN_MS / 1_000} s`) : error;
  });
  stop.abort();
  return findInSdkCache(path);
}

/** Gives the download up when nothing has arrived in the cache after the time in which one begins. */
function abortUnlessBegun(path: string, stop: AbortController): { readonly expired: boolean } {
  const watch = { expired: false };
  void sleep(DOWNLOAD_BEGINS_WITHIN_MS, undefined, { signal: stop.signal, ref: false }).then(
    () => {
      if (existsSync(path) || existsSync(`${path}.downloading`)) return;
      watch.expired = true;
      stop.abort();
    },
    () => undefined,
  );
  return watch;
}
