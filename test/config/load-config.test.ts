import { delimiter } from 'node:path';
import { VARIABLES } from '../../config/environment.js';
import { explainConfig } from '../../config/explain-config.js';
import type { ConfigSources } from '../../config/layers.js';
import { ConfigError, loadConfig, toEnvironment } from '../../config/load-config.js';

const CWD = '/work';
const instance = {
  address: 'instance:1',
  namespace: 'of-instance',
  taskQueue: 'queue',
  storePath: '/instance/store.db',
};

function load(sources: Partial<ConfigSources> = {}) {
  return loadConfig({ environment: {}, cwd: CWD, ...sources });
}

const aFile = (content: object) => ({ path: '/etc/vigil/vigil.json', content: { version: 1, ...content } });

/** Everything that is wrong with the sources. */
function problemsOf(sources: Partial<ConfigSources>): string[] {
  try {
    load(sources);
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n- ').slice(1);
    throw error;
  }
  return [];
}

const problemsOfFile = (content: object) => problemsOf({ file: aFile(content) });

describe('the order of the layers', () => {
  const layers: [string, Partial<ConfigSources>][] = [
    ['flag', { flags: { namespace: 'flag' } }],
    ['variable', { environment: { VIGIL_NAMESPACE: 'variable' } }],
    ['file', { file: aFile({ connection: { namespace: 'file' } }) }],
    ['of-instance', { instance }],
    ['default', {}],
  ];

  test.each(layers.map(([winner], index) => [winner, layers.slice(index)] as const))(
    'where it is the strongest that says something, the %s counts',
    (winner, present) => {
      expect(load(Object.assign({}, ...present.map(([, sources]) => sources))).namespace).toBe(winner);
    },
  );

  test('each setting is decided for itself', () => {
    const file = aFile({
      connection: { address: 'file:1' },
      liveness: { defaults: { resumesPerTurn: 7, stepsPerTurn: 8 } },
    });
    const environment = { VIGIL_LIVENESS: '{"defaults":{"resumesPerTurn":9}}' };
    const { address, namespace, liveness } = load({ file, environment, instance });
    expect({ address, namespace }).toEqual({ address: 'file:1', namespace: 'of-instance' });
    expect(liveness.defaults).toEqual({ resumesPerTurn: 9, stepsPerTurn: 8 });
  });

  test('an empty variable counts as not set', () => {
    expect(load({ environment: { VIGIL_MODEL: ' ', OPENAI_API_KEY: '' } })).toMatchObject({
      model: 'demo',
      providers: { openaiApiKey: undefined },
    });
  });
});

describe('paths', () => {
  test('of the file start from its folder, others from where the command runs', () => {
    const file = aFile({ store: 'a.db', agents: ['agents/ops.ts'] });
    expect(load({ file })).toMatchObject({ store: '/etc/vigil/a.db', agentFiles: ['/etc/vigil/agents/ops.ts'] });
    const environment = { VIGIL_STORE: 'b.db', VIGIL_AGENTS: ['x.ts', '/y.ts'].join(delimiter) };
    expect(load({ file, environment })).toMatchObject({ store: '/work/b.db', agentFiles: ['/work/x.ts', '/y.ts'] });
    expect(load()).toMatchObject({ store: '/work/.vigil/store.db', agentFiles: [] });
  });

  test('a list of agent files may be JSON, for names that hold a separator', () => {
    expect(load({ environment: { VIGIL_AGENTS: '["a:b.ts"]' } }).agentFiles).toEqual(['/work/a:b.ts']);
  });

  test('the address of a database is no path', () => {
    expect(load({ environment: { VIGIL_STORE: 'postgres://db/vigil' } }).store).toBe('postgres://db/vigil');
  });
});

describe('what cannot be used is refused', () => {
  test.each([
    [{ connections: {} }, 'connections is no setting; did you mean "connection"?'],
    [{ worker: { leaseMS: 5 } }, 'worker.leaseMS is no setting; did you mean "leaseMs"?'],
    [
      { liveness: { defaults: { budgetsMs: { prefil: 1 } } } },
      'liveness.defaults.budgetsMs.prefil is no setting; did you mean "prefill"?',
    ],
    [
      { liveness: { agents: { ops: { resumes: 1 } } } },
      'liveness.agents.ops.resumes is no setting; there are: budgetsMs, resumesPerTurn',
    ],
    [{ address: 'a:1' }, 'address is no setting; it belongs to connection'],
    [{ liveness: { agents: { 'a b': {} } } }, 'liveness.agents.a b is no name of an agent'],
    [{ version: 2 }, 'version must be 1'],
    [{ connection: { address: 'nowhere' } }, 'connection.address must be host:port'],
    [
      { liveness: { defaults: { budgetsMs: { prefill: 0 } } } },
      'prefill is 0; allowed are 1000 to 86400000 ms (there is no "off"',
    ],
    [
      { liveness: { models: { 'o3*': { budgetsMs: { connect: '60s' } } } } },
      'connect is "60s"; allowed are 1000 to 86400000 ms',
    ],
    [{ worker: { freezeMs: 10 } }, 'worker.freezeMs is 10; allowed are 1000 to 3600000 ms (a stuck event loop'],
    [
      { liveness: { defaults: { budgetsMs: { prefill: 30_000 } } } },
      'prefill is 30000, below liveness.defaults.budgetsMs.streaming (60000)',
    ],
    [
      { liveness: { agents: { ops: { budgetsMs: { streaming: 90_000, finish: 80_000 } } } } },
      'finish is 80000, below liveness.agents.ops.budgetsMs.streaming (90000)',
    ],
    [
      { liveness: { models: { x: { budgetsMs: { streaming: 90_000, setup: 80_000 } } } } },
      'setup is 80000, below liveness.models.x.budgetsMs.streaming (90000)',
    ],
  ])('%j, saying where and what would do', (content, message) => {
    const problems = problemsOfFile(content);
    expect(problems).toEqual([expect.stringContaining(message)]);
    expect(problems[0]).toMatch(/^\/etc\/vigil\/vigil.json: /);
  });

  test.each([
    { apiKey: 'PLANTED' },
    { providers: { openaiApiKey: 'PLANTED' } },
    { VIGIL_MODEL_API_KEY: 'PLANTED' },
    { dbPassword: 'PLANTED' },
  ])('a secret in the file (%j), naming the environment and not the secret', (content) => {
    const problems = problemsOfFile(content);
    expect(problems).toEqual([expect.stringMatching(/belong in the environment: OPENAI_API_KEY/)]);
    expect(problems[0]).not.toContain('PLANTED');
  });

  test.each([
    { store: 'postgres://me:PLANTED@db/vigil' },
    { model: 'http://me:PLANTED@127.0.0.1:1/v1#m' },
    { providers: { openaiBaseUrl: 'https://me:PLANTED@host/v1' } },
  ])('a password in an address (%j), not repeating it', (content) => {
    const problems = problemsOfFile(content);
    expect(problems).toEqual([expect.stringContaining('must hold no password')]);
    expect(problems[0]).not.toContain('PLANTED');
  });

  test.each([5, null, [], 'text'])('a file that is %j', (content) => {
    expect(problemsOf({ file: { path: '/f.json', content } })).toEqual([
      expect.stringMatching(/^\/f.json: .*expected object/),
    ]);
  });

  test.each([
    [{ VIGIL_ADDRESS: 'nonsense' }, 'VIGIL_ADDRESS must be host:port'],
    [{ VIGIL_LEASE_MS: '0' }, 'VIGIL_LEASE_MS is 0; allowed are 1000 to 3600000 ms'],
    [{ VIGIL_LEASE_MS: 'ten' }, 'VIGIL_LEASE_MS is "ten"; allowed are'],
    [{ VIGIL_SPARE_WORKER: 'yes' }, 'VIGIL_SPARE_WORKER must be true or false (in the environment, on or off)'],
    [{ VIGIL_LOG_LEVEL: 'loud' }, 'VIGIL_LOG_LEVEL: Invalid option: expected one of "debug"'],
    [{ VIGIL_LIVENESS: '{' }, 'VIGIL_LIVENESS: Invalid input: expected object'],
    [
      { VIGIL_LIVENESS: '{"defaults":{"stepsPerTurn":0}}' },
      'VIGIL_LIVENESS: defaults.stepsPerTurn is 0; allowed are 1 to 10000',
    ],
    [{ OPENAI_BASE_URL: 'host' }, 'OPENAI_BASE_URL must be an address like https://host/v1'],
  ])('the environment %j', (environment, message) => {
    expect(problemsOf({ environment })).toEqual([expect.stringContaining(message)]);
  });

  test('a flag, by its name', () => {
    expect(problemsOf({ flags: { address: 'x' } })).toEqual(['--address must be host:port']);
  });

  test('every problem of every layer is named at once', () => {
    const file = aFile({ version: 0, store: '' });
    expect(problemsOf({ flags: { address: 'x' }, environment: { VIGIL_FREEZE_MS: '1' }, file })).toHaveLength(4);
  });
});

describe('another process', () => {
  test('is given the same configuration by the environment, file or not', () => {
    const config = load({
      flags: { agents: ['a:b.ts', 'c.ts'], model: 'openai:m' },
      environment: {
        OPENAI_BASE_URL: 'https://host/v1',
        ANTHROPIC_BASE_URL: 'https://other/v1',
        VIGIL_SPARE_WORKER: 'off',
      },
      file: aFile({
        logLevel: 'error',
        worker: { leaseMs: 2_000 },
        liveness: { models: { 'm*': { budgetsMs: { prefill: 70_000 } } } },
      }),
      instance,
    });
    const environment = toEnvironment(config);
    expect(loadConfig({ environment, cwd: '/elsewhere' })).toEqual(config);
    expect(environment['VIGIL_CONFIG']).toBe('off');
    expect(Object.keys(VARIABLES).filter((name) => environment[name] === undefined)).toEqual([]);
  });
});

describe('the explanation', () => {
  const explain = (sources: Partial<ConfigSources>) =>
    Object.fromEntries(
      explainConfig({ environment: {}, cwd: CWD, ...sources }).map(({ path, value, source }) => [
        path,
        [value, source],
      ]),
    );

  test('names the layer that each value comes from', () => {
    const file = aFile({
      worker: { leaseMs: 2_000 },
      liveness: { agents: { ops: { budgetsMs: { prefill: 70_000 } } } },
    });
    expect(
      explain({ flags: { address: 'a:1' }, environment: { VIGIL_LOG_LEVEL: 'warn' }, file, instance }),
    ).toMatchObject({
      'connection.address': ['a:1', '--address'],
      logLevel: ['warn', 'VIGIL_LOG_LEVEL'],
      'worker.leaseMs': [2_000, '/etc/vigil/vigil.json: worker.leaseMs'],
      'liveness.agents.ops.budgetsMs.prefill': [70_000, expect.stringContaining('vigil.json: liveness.agents.ops')],
      'connection.namespace': ['of-instance', 'the instance running in this folder'],
      'liveness.defaults.budgetsMs.prefill': [180_000, 'default'],
      'providers.openaiBaseUrl': [null, 'default'],
    });
  });

  test('holds no key and no password', () => {
    const environment = { OPENAI_API_KEY: 'PLANTED', VIGIL_STORE: 'postgres://me:PLANTED@db/vigil' };
    expect(JSON.stringify(explain({ environment }))).not.toContain('PLANTED');
  });
});
