/**
 * `vigil dev` with a chat: owns the terminal, and an instance unless one runs already.
 *
 * I1. Whoever started the instance stops it; whoever joined leaves it alone.
 * I2. Ctrl-C reaches every process of the terminal's group. The instance ignores it and waits for this process's SIGTERM.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { NotReadyError } from './bootstrap.mjs';

const JOIN_LIMIT_MS = 180_000;
const JOIN_POLL_MS = 200;
/** The worker's and the server's own limits, and some. */
const STOP_LIMIT_MS = 40_000;
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

export async function startDev({ argv, root, loadCli, becomeMain }) {
  const load = (module) => import(pathToFileURL(join(root, 'dist', module)).href);
  const { parseDevOptions } = await load('config/dev-options.js');
  const parsed = parseDevOptions(argv, process.cwd());
  if (parsed.kind === 'exit') process.exit(parsed.code);
  if (parsed.options.headless) return becomeMain('worker/dev-main.js', argv);

  const { findLockHolder, readInstance } = await load('config/instance.js');
  const main = await loadCli();
  const { session, dataDir, config } = parsed.options;
  // Named, not left to be found: neither --data-dir nor a variable of the user's may lead to another instance.
  const chat = ({ address, namespace, taskQueue, storePath }) => {
    const place = ['--address', address, '--namespace', namespace, '--task-queue', taskQueue, '--store', storePath];
    return main(['chat', session, ...place, ...(config === undefined ? [] : ['--config', config])]);
  };
  if (findLockHolder(dataDir) === null) {
    const mainPath = join(root, 'dist', 'worker', 'dev-main.js');
    const code = await chatInOwnInstance(mainPath, argv, () => chat(readInstance(dataDir)));
    if (code !== 'refused') process.exit(code);
  }
  const instance = await waitForInstance(
    () => readInstance(dataDir),
    () => findLockHolder(dataDir),
  );
  process.stderr.write(`joining the instance that runs here (pid ${instance.pid})\n`);
  process.exit(await chat(instance));
}

/** Answers with the exit code, or `refused` when another instance was faster. */
async function chatInOwnInstance(mainPath, argv, chat) {
  const instance = fork(mainPath, argv, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const ended = once(instance, 'exit').then(([code, signal]) => ({ kind: 'ended', code: code ?? signal }));
  const stopped = stopOnSignal(instance);
  const first = await Promise.race([stopped, nextMessage(instance, ['ready', 'refused']), ended]);
  if (first.kind === 'refused') {
    for (const signal of STOP_SIGNALS) process.removeAllListeners(signal);
    return 'refused';
  }
  if (first.kind === 'ended') return 1;
  if (first.kind === 'ready') {
    const result = await Promise.race([stopped, ended, chat().then((code) => ({ kind: 'chatted', code }))]);
    if (result.kind === 'ended') {
      process.stderr.write(`vigil: the instance ended (${result.code}); its logs tell why. Start again to go on.\n`);
      return 1;
    }
    await stop(instance, ended);
    return result.kind === 'chatted' ? result.code : 0;
  }
  await stop(instance, ended);
  return 0;
}

/** Settles at the first signal to stop; a later one hurries the instance. */
function stopOnSignal(instance) {
  return new Promise((resolve) => {
    let asked = false;
    const ask = () => {
      if (asked) instance.kill('SIGTERM');
      asked = true;
      resolve({ kind: 'stopped' });
    };
    for (const signal of STOP_SIGNALS) process.on(signal, ask);
  });
}

function nextMessage(instance, kinds) {
  return new Promise((resolve) => {
    instance.on('message', (message) => {
      if (kinds.includes(message.kind)) resolve(message);
    });
  });
}

async function stop(instance, ended) {
  instance.kill('SIGTERM');
  const late = sleep(STOP_LIMIT_MS, 'late', { ref: false });
  if ((await Promise.race([ended, late])) !== 'late') return;
  process.stderr.write(
    `vigil: the instance did not stop within ${STOP_LIMIT_MS / 1000} s and is killed; nothing is lost.\n`,
  );
  instance.kill('SIGKILL');
  await ended;
}

async function waitForInstance(read, holder) {
  for (let waitedMs = 0; waitedMs < JOIN_LIMIT_MS; waitedMs += JOIN_POLL_MS) {
    const instance = read();
    if (instance !== null) return instance;
    const held = holder();
    if (held === null) throw new NotReadyError('the instance that ran here has just ended; run the command again.');
    if (waitedMs === 2_000)
      process.stderr.write(`waiting for the instance that starts here (pid ${held.heldBy ?? 'unknown'}) …\n`);
    await sleep(JOIN_POLL_MS);
  }
  throw new NotReadyError(`the instance that starts here was not ready within ${JOIN_LIMIT_MS / 1000} s.`);
}
