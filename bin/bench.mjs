#!/usr/bin/env node
/** `npm run bench -- NAME [--json] [--short]`: measures, prints a table and, with --json, one JSON object as the last line. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ensureReady } from './bootstrap.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
await ensureReady({ build: true });
const { status } = spawnSync(
  process.execPath,
  ['node_modules/jiti/lib/jiti-cli.mjs', 'bench/main.ts', ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: 'inherit',
  },
);
process.exitCode = status ?? 1;
