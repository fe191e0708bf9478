#!/usr/bin/env node
/** The `vigil` command: makes the package ready, then hands over to a main in `worker/`, or to the client's command line. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureReady, NotReadyError } from './bootstrap.mjs';
import { startDev } from './dev.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const USAGE = `usage: vigil COMMAND [OPTIONS]

  dev                start a Temporal server, a worker and a chat in this folder, or join the instance that runs here
  worker             serve sessions of an existing Temporal server
  chat SESSION       talk to a session
  show SESSION       show a session
  sessions           list sessions
  resume SESSION     go on with a suspended session
  stop SESSION       end the running turn
  drain SESSION      let a session come to rest (or --all)
  undrain SESSION    let it take up work again (or --all)
  wakes SESSION      list, add, edit and cancel what wakes a session
  remind SESSION     send a reminder, and observe what becomes of it
  close SESSION      end a session for good
  doctor             say what is wrong with server, store, workers and sessions
  config             show every setting, and where its value was said
  replay PATH        replay recorded histories against this version's workflow

Settings: flags, then the environment, then vigil.json, then the instance running in this folder, then defaults.

  -h, --help         this text; after a command, the command's own
  --version          the version of this package
`;

try {
  await dispatch(process.argv.slice(2));
} catch (error) {
  const isPlain = error instanceof NotReadyError;
  process.stderr.write(`vigil: ${isPlain ? error.message : error.stack}\n`);
  process.exit(1);
}

async function dispatch(argv) {
  const [command, ...rest] = argv;
  if (command === undefined || command === '-h' || command === '--help' || command === 'help') {
    process.stdout.write(USAGE);
    process.exitCode = command === undefined ? 1 : 0;
    return;
  }
  if (command === '--version') return void process.stdout.write(`${version()}\n`);
  await ensureReady({ build: true });
  if (command === 'dev') return startDev({ argv: rest, root: ROOT, loadCli, becomeMain });
  if (command === 'worker') {
    const main = rest.includes('--unsupervised') ? 'main.js' : 'supervisor-main.js';
    return becomeMain(join('worker', main), rest);
  }
  const main = await loadCli();
  process.exitCode = await main(argv);
}

/** Goes on as if Node had been started with this main: one process, so that signals and the pid are the main's own. */
async function becomeMain(module, argv) {
  const path = join(ROOT, 'dist', module);
  process.argv = [process.execPath, path, ...argv];
  await import(pathToFileURL(path).href);
}

async function loadCli() {
  const path = join(ROOT, 'dist', 'client', 'cli', 'main.js');
  if (!existsSync(path)) throw new NotReadyError(`${path} is missing: remove dist/ and run the command again.`);
  try {
    return (await import(pathToFileURL(path).href)).main;
  } catch (error) {
    throw new NotReadyError(`${path} cannot be loaded: ${error.message}\nRemove dist/ and run the command again.`);
  }
}

function version() {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version;
}
