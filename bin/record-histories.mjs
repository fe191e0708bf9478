#!/usr/bin/env node
/**
 * `npm run record:histories [-- NAME ...]`: runs the main scenarios on a real server and writes their histories to test/histories/.
 * Files that exist are kept: a recorded history is what a deployed session looks like, and must go on replaying.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ensureReady } from './bootstrap.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
await ensureReady({ build: true });
const { status } = spawnSync(
  process.execPath,
  ['node_modules/jiti/lib/jiti-cli.mjs', 'test/histories/record.ts', ...process.argv.slice(2)],
  { cwd: root, stdio: 'inherit' },
);
process.exitCode = status ?? 1;
