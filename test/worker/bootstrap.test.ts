/** `bin/bootstrap.mjs` on a small package of its own: the compiler and npm are stand-ins that count their runs. */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { packageRoot } from '../../config/package-root.js';
import { Child } from '../support/child.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const folder = temporaryFolder();
const LOCK = {
  packages: { '': {}, 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '1.0.0', optional: true } },
};

beforeEach(() => {
  for (const script of ['bootstrap.mjs', 'bootstrap-lock.mjs', 'bootstrap-stamps.mjs']) {
    cpSync(join(packageRoot(), 'bin', script), join(folder(), 'bin', script));
  }
  write('package.json', '{ "type": "module" }');
  write('tsconfig.build.json', '{}');
  write('package-lock.json', JSON.stringify(LOCK));
  write('worker/bundle-workflows.ts', '');
  installed(LOCK);
  program('node_modules/.bin/tsc', 'compiled');
  write(
    'dist/worker/bundle-workflows.js',
    `import { appendFileSync } from 'node:fs';\nappendFileSync('runs', 'bundled\\n');`,
  );
  program('tools/npm', 'npm');
});

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder(), path)), { recursive: true });
  writeFileSync(join(folder(), path), text);
}

function program(path: string, word: string, then = 'exit 0'): void {
  write(path, `#!/bin/sh\necho ${word} >> "${folder()}/runs"\nsleep 0.2\n${then}\n`);
  chmodSync(join(folder(), path), 0o755);
}

function installed({ packages }: typeof LOCK): void {
  write(
    'node_modules/.package-lock.json',
    JSON.stringify({ packages: { 'node_modules/a': packages['node_modules/a'] } }),
  );
}

function runs(): string[] {
  const log = join(folder(), 'runs');
  return existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
}

function start(): Child {
  const env = { ...process.env, PATH: `${join(folder(), 'tools')}${delimiter}${process.env['PATH']}` };
  return new Child(process.execPath, [join(folder(), 'bin', 'bootstrap.mjs')], { cwd: folder(), env });
}

async function bootstrap(): Promise<Child> {
  const child = start();
  await child.hasEnded();
  return child;
}

test('compiles and bundles once, and not again while nothing changes', async () => {
  expect((await bootstrap()).end).toBe(0);
  expect((await bootstrap()).stderr).toBe('');
  expect(runs()).toEqual(['compiled', 'bundled']);
});

test('installs nothing through a link: what it leads to is of another project', async () => {
  renameSync(join(folder(), 'node_modules'), join(folder(), 'elsewhere'));
  symlinkSync(join(folder(), 'elsewhere'), join(folder(), 'node_modules'));
  rmSync(join(folder(), 'elsewhere', '.package-lock.json'));
  const refused = await bootstrap();
  expect(refused.end).toBe(1);
  expect(refused.stderr).toContain('node_modules is a link');
  expect(runs()).toEqual([]);
});

test.each(['worker/bundle-workflows.ts', 'tsconfig.build.json', 'package.json'])(
  'a change of %s compiles again',
  async (path) => {
    await bootstrap();
    write(path, path.endsWith('.ts') ? 'export {};' : '{ "type": "module", "x": 1 }');
    await bootstrap();
    expect(runs()).toEqual(['compiled', 'bundled', 'compiled', 'bundled']);
  },
);

test('a compiled file whose source is gone is removed', async () => {
  write('dist/worker/gone.js', '');
  write('dist/worker/gone.d.ts', '');
  await bootstrap();
  expect(existsSync(join(folder(), 'dist/worker/gone.js'))).toBe(false);
  expect(existsSync(join(folder(), 'dist/worker/gone.d.ts'))).toBe(false);
  expect(existsSync(join(folder(), 'dist/worker/bundle-workflows.js'))).toBe(true);
});

test("a failed build prints the compiler's output, exits with 1 and is tried again", async () => {
  program('node_modules/.bin/tsc', 'compiled', 'echo "a.ts(1,1): error"; exit 2');
  const failed = await bootstrap();
  expect(failed.end).toBe(1);
  expect(failed.stderr).toContain('a.ts(1,1): error');
  await bootstrap();
  expect(runs()).toEqual(['compiled', 'compiled']);
});

test('installs when the lock asks for something else than what is installed', async () => {
  await bootstrap();
  write(
    'package-lock.json',
    JSON.stringify({ packages: { ...LOCK.packages, 'node_modules/a': { version: '2.0.0' } } }),
  );
  expect((await bootstrap()).end).toBe(0);
  expect(runs().filter((run) => run === 'npm')).toHaveLength(1);
  await bootstrap();
  expect(runs().filter((run) => run === 'npm')).toHaveLength(1);
});

test('what npm installed by hand is taken as it is when it fits', async () => {
  await bootstrap();
  expect(runs()).not.toContain('npm');
});

test('two at once do the work once', async () => {
  const both = [start(), start()];
  for (const child of both) expect(await child.hasEnded()).toBe(0);
  expect(runs()).toEqual(['compiled', 'bundled']);
});

test('the lock of a process that was killed does not block the next', async () => {
  const gone = new Child(process.execPath, ['-e', '']);
  await gone.hasEnded();
  write('.cache/bootstrap.lock/pid', String(gone.pid));
  expect((await bootstrap()).end).toBe(0);
  expect(existsSync(join(folder(), '.cache/bootstrap.lock'))).toBe(false);
});

test('installed as a dependency, without sources, it does nothing', async () => {
  rmSync(join(folder(), 'tsconfig.build.json'));
  rmSync(join(folder(), 'node_modules'), { recursive: true });
  expect((await bootstrap()).end).toBe(0);
  expect(runs()).toEqual([]);
});
