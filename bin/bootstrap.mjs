/**
 * From a fresh clone to something that runs: installs the dependencies, compiles the sources, each only when needed.
 * Node's own modules alone: this runs before `node_modules` exists.
 *
 * I1. A stamp holds the hash of what a step was made from, and is written last: a step that was cut short is done again.
 * I2. Only the holder of the lock changes `node_modules` or `dist`; what was needed is asked again under the lock.
 * I3. Installed as a dependency there are no sources, and nothing is done.
 */
import { spawn } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLock } from './bootstrap-lock.mjs';
import { hashFiles, installedFits, listSources, removeOrphans } from './bootstrap-stamps.mjs';

const OLDEST_NODE = [20, 20];

/** Thrown for what a person can mend; its message is all there is to say. */
export class NotReadyError extends Error {}

/**
 * @param {{ build: boolean, root?: string }} wanted
 * @throws {NotReadyError}
 */
export async function ensureReady({ build, root = dirname(dirname(fileURLToPath(import.meta.url))) }) {
  requireNode();
  if (!existsSync(join(root, 'tsconfig.build.json'))) return;
  if (isInstalled(root) && (!build || isBuilt(root))) return;
  await withLock(join(root, '.cache', 'bootstrap.lock'), say, async () => {
    if (!isInstalled(root)) await install(root);
    if (build && !isBuilt(root)) await compile(root);
  });
}

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  throw new NotReadyError(`Node ${OLDEST_NODE.join('.')} or newer is needed; this is ${process.versions.node}.`);
}

function isInstalled(root) {
  const modules = join(root, 'node_modules');
  if (!existsSync(modules)) return false;
  const lock = join(root, 'package-lock.json');
  if (!existsSync(lock)) return true;
  const stamp = join(modules, '.vigil-stamp');
  if (readStamp(stamp) === hashFiles(root, ['package-lock.json'])) return true;
  // Somebody ran npm by hand: what npm says it installed is compared with what is asked for.
  if (!installedFits(lock, join(modules, '.package-lock.json'))) return false;
  writeFileSync(stamp, hashFiles(root, ['package-lock.json']));
  return true;
}

/** npm would empty the folder that a link leads to, which is somebody else's. */
function requireOwnModules(root) {
  const modules = join(root, 'node_modules');
  if (!lstatSync(modules, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  throw new NotReadyError(
    `${modules} is a link, and what it leads to is not what this version needs; remove the link, then run this again.`,
  );
}

async function install(root) {
  requireOwnModules(root);
  const hasLock = existsSync(join(root, 'package-lock.json'));
  const args = [hasLock ? 'ci' : 'install', '--include=dev', '--no-fund', '--no-audit'];
  await step(`installing dependencies (npm ${args[0]})`, 'npm', args, root);
  if (hasLock) writeFileSync(join(root, 'node_modules', '.vigil-stamp'), hashFiles(root, ['package-lock.json']));
}

function isBuilt(root) {
  return readStamp(join(root, 'dist', '.stamp')) === hashFiles(root, listSources(root));
}

async function compile(root) {
  const sources = listSources(root);
  const hash = hashFiles(root, sources);
  const stamp = join(root, 'dist', '.stamp');
  rmSync(stamp, { force: true });
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  await step('compiling', tsc, ['-p', 'tsconfig.build.json'], root);
  removeOrphans(root, sources);
  await step('bundling the workflows', process.execPath, [join('dist', 'worker', 'bundle-workflows.js')], root);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, hash);
}

/** Runs one program, silently unless it fails; says what goes on, and how long it took. */
async function step(what, program, args, cwd) {
  const startedMs = Date.now();
  const elapsed = () => `${((Date.now() - startedMs) / 1000).toFixed(1)} s`;
  say(`${what} …`);
  const reminder = setInterval(() => say(`${what}: still at it after ${elapsed()}`), 20_000);
  try {
    const { code, output } = await run(program, args, cwd);
    if (code !== 0) throw new NotReadyError(`${what} failed (${code}):\n${output.trimEnd()}`);
    say(`${what}: done in ${elapsed()}`);
  } finally {
    clearInterval(reminder);
  }
}

function run(program, args, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], shell: process.platform === 'win32' });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    child.once('error', (error) => reject(new NotReadyError(`${program} cannot be run: ${error.message}`)));
    child.once('close', (code, signal) => resolve({ code: code ?? signal, output }));
  });
}

function readStamp(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

function say(line) {
  process.stderr.write(`vigil: ${line}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  ensureReady({ build: true }).catch((error) => {
    say(error instanceof NotReadyError ? error.message : error.stack);
    process.exitCode = 1;
  });
}
