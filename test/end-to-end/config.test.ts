import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../config/package-root.js';
import type { ExplainedSetting } from '../../config/explain-config.js';
import { Child } from '../support/child.js';
import { Vigil } from '../support/vigil.js';

const vigil = Vigil.inFileWithoutWorker();

/** Nothing of the tests' own surroundings. */
const CLEAN = { VIGIL_CONFIG: '', VIGIL_ADDRESS: '', VIGIL_STORE: '', VIGIL_TASK_QUEUE: '', VIGIL_MODEL: '' };

function aFile(name: string, content: object): string {
  const path = join(vigil.folder, name);
  writeFileSync(path, JSON.stringify({ version: 1, ...content }));
  return path;
}

function connection() {
  return { connection: { address: vigil.address, taskQueue: vigil.taskQueue }, store: 'store.db' };
}

function run(args: string[], environment: NodeJS.ProcessEnv = {}, cwd = packageRoot()): Child {
  const program = [join(packageRoot(), 'bin', 'vigil.mjs'), ...args];
  return new Child(process.execPath, program, { cwd, env: { ...process.env, ...CLEAN, ...environment } });
}

/** A supervisor and its worker under settings of a file, until `use` is done. */
async function withWorker(args: string[], environment: NodeJS.ProcessEnv, use: () => Promise<void>): Promise<void> {
  const worker = run(['worker', ...args], environment);
  try {
    await worker.line('ready ', 60_000);
    await use();
  } finally {
    worker.kill('SIGTERM');
    await worker.hasEnded(30_000);
  }
}

describe('a configuration file', () => {
  test.each([
    ['under a supervisor', []],
    ['alone', ['--unsupervised']],
  ])(
    'configures a worker %s, and the client that asks it',
    async (_, more) => {
      const liveness = { agents: { demo: { resumesPerTurn: 5, budgetsMs: { prefill: 240_000 } } } };
      const config = aFile('worker.json', { ...connection(), liveness });
      await withWorker(['--config', config, ...more], {}, async () => {
        const session = vigil.session();
        const chat = run(['chat', session, '--config', config, '--message', 'hello', '--json']);
        expect(await chat.hasEnded(60_000)).toBe(0);
        const { profile } = await vigil.client.state(session);
        expect(profile).toMatchObject({ resumesPerTurn: 5, budgetsMs: { prefill: 240_000 } });
      });
    },
    150_000,
  );

  test('that was changed after the supervisor read it does not reach its workers', async () => {
    const config = aFile('changed.json', {
      ...connection(),
      liveness: { defaults: { stepsPerTurn: 7 } },
      worker: { spareWorker: false },
    });
    const worker = run(['worker', '--config', config]);
    try {
      const [, child] = /child=(\d+)/.exec(await worker.line('ready ', 60_000))!;
      writeFileSync(config, '{ half written');
      process.kill(Number(child), 'SIGKILL');
      const session = vigil.session();
      expect(await vigil.ask(session, 'hello')).toMatchObject({ outcome: 'completed' });
      expect((await vigil.client.state(session)).profile.stepsPerTurn).toBe(7);
    } finally {
      worker.kill('SIGTERM');
      await worker.hasEnded(30_000);
    }
  }, 150_000);

  test('that cannot be used keeps a worker from starting, and says why', async () => {
    const config = aFile('faulty.json', { liveness: { defaults: { budgetsMs: { prefil: 0 } } } });
    const worker = run(['worker'], { VIGIL_CONFIG: config });
    expect(await worker.hasEnded(60_000)).toBe(1);
    expect(worker.stderr).toContain(
      `${config}: liveness.defaults.budgetsMs.prefil is no setting; did you mean "prefill"?`,
    );
  }, 90_000);
});

describe('vigil config', () => {
  test('shows where each value was said, and no key', async () => {
    const folder = join(vigil.folder, 'here');
    mkdirSync(folder);
    const path = aFile(join('here', 'vigil.json'), { logLevel: 'error', model: 'openai:m' });
    const environment = { VIGIL_MODEL: 'demo', OPENAI_API_KEY: 'PLANTED-SECRET' };
    const child = run(['config', '--address', 'host:1', '--json'], environment, folder);
    expect(await child.hasEnded(60_000)).toBe(0);
    const { file, settings, keys } = JSON.parse(child.stdout) as {
      file: string;
      settings: ExplainedSetting[];
      keys: object[];
    };
    expect(file).toBe(path);
    expect(settings).toEqual(
      expect.arrayContaining([
        { path: 'connection.address', value: 'host:1', source: '--address' },
        { path: 'model', value: 'demo', source: 'VIGIL_MODEL' },
        { path: 'logLevel', value: 'error', source: `${path}: logLevel` },
        { path: 'connection.namespace', value: 'default', source: 'default' },
      ]),
    );
    expect(keys).toContainEqual({ name: 'OPENAI_API_KEY', isSet: true });
    const text = run(['config'], environment, folder);
    expect(await text.hasEnded(60_000)).toBe(0);
    expect(text.stdout).toMatch(/^model +demo +VIGIL_MODEL$/m);
    expect(child.stdout + text.stdout).not.toContain('PLANTED');
  }, 90_000);
});
