import { parseArgs } from 'node:util';
import type { Bench } from './bench.js';
import { measureCrashes } from './crash.js';
import { measureStalls } from './stall.js';
import { measureTurn } from './turn.js';
import { measureWakes } from './wakes.js';

const BENCHES: Record<string, Bench> = {
  turn: measureTurn,
  crash: measureCrashes,
  stall: measureStalls,
  wakes: measureWakes,
};

const { values, positionals } = parseArgs({
  options: { json: { type: 'boolean', default: false }, short: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const bench = BENCHES[positionals[0] ?? ''];
if (!bench) {
  process.stderr.write(`usage: npm run bench -- ${Object.keys(BENCHES).join('|')} [--json] [--short]\n`);
  process.exit(2);
}
const { measured, broken } = await bench({ isShort: values.short });
for (const problem of broken) process.stderr.write(`bound broken: ${problem}\n`);
if (values.json) process.stdout.write(`${JSON.stringify(measured)}\n`);
else console.table(measured);
process.exit(broken.length === 0 ? 0 : 1);
