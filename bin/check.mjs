#!/usr/bin/env node
/**
 * `npm run check`: everything that must hold before a commit, one line each; what a step prints is shown only if it fails.
 * `npm run check -- --fix` first lets the formatter and the linter mend what they can.
 * The steps are scripts of package.json, so that each can be run alone.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const STEPS = [
  { name: 'format', script: 'check:format', fix: ['format'] },
  { name: 'lint', script: 'check:lint', fix: ['check:lint', '--', '--fix'] },
  { name: 'types', script: 'check:types' },
  { name: 'boundaries', script: 'check:boundaries' },
  { name: 'unused code', script: 'check:unused' },
  { name: 'spelling', script: 'check:spelling' },
  { name: 'unit tests', script: 'test:unit' },
];
const STEP_LIMIT_MS = 10 * 60_000;
const root = fileURLToPath(new URL('..', import.meta.url));

const { values } = parseArgs({ options: { fix: { type: 'boolean', default: false } } });
const failed = [];
for (const { name, script, fix } of STEPS) {
  const { succeeded, seconds, printed } = await run(values.fix && fix ? fix : [script]);
  console.log(`${name.padEnd(12)} ${succeeded ? 'ok    ' : 'failed'} ${seconds.toFixed(1).padStart(6)} s`);
  if (succeeded) continue;
  failed.push(name);
  console.log(printed.trimEnd().replace(/^/gm, '  '));
}
console.log(failed.length === 0 ? 'all checks passed' : `failed: ${failed.join(', ')}`);
process.exitCode = failed.length === 0 ? 0 : 1;

function run(args) {
  return new Promise((resolve) => {
    const startedMs = Date.now();
    const npm = spawn('npm', ['run', '--silent', ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    let printed = '';
    const keep = (chunk) => (printed += chunk);
    npm.stdout.setEncoding('utf8').on('data', keep);
    npm.stderr.setEncoding('utf8').on('data', keep);
    // npm runs the tool in a process of its own: the whole group must end.
    const stop = () => process.kill(-npm.pid, 'SIGKILL');
    const onSignal = () => {
      stop();
      process.exit(130);
    };
    const limit = setTimeout(() => {
      keep(`\nstopped: not done after ${STEP_LIMIT_MS / 60_000} minutes\n`);
      stop();
    }, STEP_LIMIT_MS);
    process.once('SIGINT', onSignal).once('SIGTERM', onSignal);
    npm.once('error', (error) => keep(String(error)));
    npm.once('close', (code) => {
      clearTimeout(limit);
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
      resolve({ succeeded: code === 0, seconds: (Date.now() - startedMs) / 1000, printed });
    });
  });
}
