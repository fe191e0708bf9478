/** What the bootstrap's steps are made from, and whether it changed. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative, sep } from 'node:path';

/** The rooms that `tsconfig.build.json` compiles. */
const ROOMS = ['protocol', 'config', 'workflows', 'activities', 'store', 'worker', 'client'];
const BUILD_FILES = ['package.json', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];
/** Longest first: `.d.ts.map` also ends in `.map`. */
const OUTPUT_ENDINGS = ['.d.ts.map', '.d.ts', '.js.map', '.js'];

/** Everything the compiled form depends on, relative to `root`, in a fixed order. */
export function listSources(root) {
  const rooms = ROOMS.filter((room) => existsSync(join(root, room))).flatMap((room) => listFiles(join(root, room)));
  const files = rooms.map((file) => relative(root, file));
  return [...files, ...BUILD_FILES.filter((file) => existsSync(join(root, file)))].sort();
}

export function hashFiles(root, files) {
  const hash = createHash('sha256');
  for (const file of files) {
    const content = readFileSync(join(root, file));
    hash.update(`${file.split(sep).join('/')}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/** Whether what npm installed is what the lock asks for: the same versions, and nothing missing but optional packages. */
export function installedFits(lockPath, installedPath) {
  if (!existsSync(installedPath)) return false;
  const wanted = JSON.parse(readFileSync(lockPath, 'utf8')).packages ?? {};
  const installed = JSON.parse(readFileSync(installedPath, 'utf8')).packages ?? {};
  const known = Object.entries(installed).every(([path, { version }]) => wanted[path]?.version === version);
  const complete = Object.entries(wanted).every(([path, { optional, devOptional }]) => {
    return path === '' || path in installed || optional === true || devOptional === true;
  });
  return known && complete;
}

/** Removes compiled files whose source is gone, so that nothing loads what no longer exists. */
export function removeOrphans(root, sources) {
  const compiled = new Set(sources.map((file) => file.replace(/\.ts$/, '')));
  for (const room of ROOMS.filter((name) => existsSync(join(root, 'dist', name)))) {
    for (const file of listFiles(join(root, 'dist', room))) {
      const ending = OUTPUT_ENDINGS.find((candidate) => file.endsWith(candidate));
      const source = ending && relative(join(root, 'dist'), file).slice(0, -ending.length);
      if (source !== undefined && !compiled.has(source)) rmSync(file);
    }
  }
}

function listFiles(folder) {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? listFiles(path) : [path];
  });
}
