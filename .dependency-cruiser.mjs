/**
 * The arrows between the rooms (ARCHITECTURE.md). Each room lists the rooms it may import; everything else is an error.
 *
 * That zod, provider SDKs, the store and Node modules cannot reach the workflow bundle follows from three rules together:
 * `workflows/` imports values from `protocol/` and Temporal's sandbox packages alone, `protocol/` imports nothing,
 * and an `import type` leaves nothing behind at run time.
 */
import { readFileSync } from 'node:fs';

const rooms = [
  'protocol',
  'config',
  'workflows',
  'activities',
  'store',
  'worker',
  'client',
  'bin',
  'bench',
  'test',
  'examples',
];

const mayImport = {
  protocol: [],
  config: ['protocol'],
  workflows: ['protocol', 'activities'], // activities as types only: see `workflows-see-activities-as-types`
  activities: ['protocol', 'config', 'store'],
  store: ['protocol'],
  worker: ['protocol', 'config', 'store', 'activities'],
  client: ['protocol', 'config', 'store'],
  bin: ['config', 'worker', 'client'], // a thin dispatcher
};

const packageFile = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
const publicEntries = Object.values(packageFile.exports ?? {})
  .flatMap((target) => (typeof target === 'string' ? target : Object.values(target)))
  .map((path) => `^${path.replace(/^\.\//, '').replaceAll('.', '\\.')}$`);

const error = (name, comment, from, to) => ({ name, severity: 'error', comment, from, to });

export default {
  forbidden: [
    error('no-cycles', 'Cycles hide who owns what; cycles of types too.', {}, { circular: true }),
    error(
      'no-unresolvable',
      'An import must name something that exists; the package itself may not be built yet.',
      {},
      { couldNotResolve: true, pathNot: `^${packageFile.name}(/|$)` },
    ),
    ...Object.entries(mayImport).map(([room, allowed]) =>
      error(
        `${room}-imports`,
        `${room}/ may import ${allowed.length > 0 ? allowed.map((name) => `${name}/`).join(', ') : 'nothing'} and itself.`,
        { path: `^${room}/` },
        { path: `^(${rooms.filter((name) => name !== room && !allowed.includes(name)).join('|')})/` },
      ),
    ),
    error(
      'protocol-stands-alone',
      'protocol/ is loaded everywhere, the workflow sandbox included: no package, no Node module.',
      { path: '^protocol/' },
      { pathNot: '^protocol/' },
    ),
    error(
      'workflows-see-activities-as-types',
      'A value import would pull an activity and all it needs into the workflow bundle.',
      { path: '^workflows/' },
      { path: '^activities/', dependencyTypesNot: ['type-only'] },
    ),
    error(
      'workflows-use-temporal-only',
      'Only Temporal packages made for the sandbox may be bundled.',
      { path: '^workflows/' },
      { path: 'node_modules', pathNot: 'node_modules/@temporalio/(workflow|common)/' },
    ),
    error(
      'workflows-use-no-node-module',
      'Node modules do not exist in the workflow sandbox.',
      { path: '^workflows/' },
      { dependencyTypes: ['core'] },
    ),
    error(
      'session-core-is-pure',
      'workflows/session/ is the pure core: protocol/ and itself, no package at all, not even as types.',
      { path: '^workflows/session/' },
      { pathNot: '^(protocol|workflows/session)/' },
    ),
    error(
      'examples-use-the-public-entry',
      'An example shows what a user can write.',
      { path: '^examples/' },
      { path: `^(${rooms.filter((name) => name !== 'examples').join('|')})/`, pathNot: publicEntries },
    ),
    error(
      'run-time-needs-no-dev-package',
      'A package that is imported at run time belongs to dependencies.',
      { path: `^(${Object.keys(mayImport).join('|')})/` },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|coverage|\\.cache|\\.vigil|test/histories)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
