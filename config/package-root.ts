import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that holds this package's `package.json`, whether this file runs from `dist/` or from its source. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`No package.json above ${fileURLToPath(import.meta.url)}.`);
    folder = parent;
  }
  return folder;
}

/** The compiled form of a module, for processes that are started by path: `compiledPath('worker/main.js')`. */
export function compiledPath(module: string): string {
  return join(packageRoot(), 'dist', module);
}
