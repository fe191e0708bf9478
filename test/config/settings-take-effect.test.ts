import { createAgents, type Agent } from '../../activities/agents.js';
import { SLOW_FLOORS_MS } from '../../activities/budgets.js';
import { configFileSchema, knobsOf } from '../../config/config-schema.js';
import { type Config, loadConfig, toEnvironment } from '../../config/load-config.js';

/** What is written into the file, and where it must arrive. */
interface Row {
  value: unknown;
  /** The value as it takes effect; the same as `value` unless `arrives` says otherwise. */
  read: (config: Config) => unknown;
  arrives?: unknown;
}

const MODEL = 'openai:unheard-of';

/** An agent as a worker of this configuration makes it. */
function agentOf(config: Config): Agent {
  return createAgents([{ name: 'ops', model: MODEL }], config.model, config).get('ops')!;
}

const of = (read: (agent: Agent) => unknown, value: number): Row => ({
  value,
  read: (config) => read(agentOf(config)),
});

/** The limits and budgets of a section of `liveness`. */
function rowsOf(section: string): Record<string, Row> {
  return Object.fromEntries(
    Object.entries({
      'budgetsMs.setup': of(({ profile }) => profile.budgetsMs.setup, 61_000),
      'budgetsMs.connect': of(({ profile }) => profile.budgetsMs.connect, 62_000),
      'budgetsMs.prefill': of(({ profile }) => profile.budgetsMs.prefill, 63_000),
      'budgetsMs.reasoning': of(({ profile }) => profile.budgetsMs.reasoning, 64_000),
      'budgetsMs.thinkingGap': of(({ profile }) => profile.budgetsMs.thinkingGap, 65_000),
      'budgetsMs.streaming': of(({ profile }) => profile.budgetsMs.streaming, 59_000),
      'budgetsMs.finish': of(({ profile }) => profile.budgetsMs.finish, 66_000),
      resumesPerTurn: of(({ profile }) => profile.resumesPerTurn, 5),
      stepsPerTurn: of(({ profile }) => profile.stepsPerTurn, 6),
      providerWaitPerTurnMs: of(({ profile }) => profile.providerWaitPerTurnMs, 7_000),
      redispatchesPerTurn: of(({ profile }) => profile.redispatchesPerTurn, 8),
      scheduleToStartMs: of(({ profile }) => profile.scheduleToStartMs, 9_500),
      capacityWaitPerTurnMs: of(({ profile }) => profile.capacityWaitPerTurnMs, 8_500),
      channelWaitMs: of(({ profile }) => profile.channelWaitMs, 7_500),
      outputCharsPerCall: of(({ callLimits }) => callLimits.outputCharsPerCall, 9_000),
      maxOutputTokens: of(({ callLimits }) => callLimits.maxOutputTokens, 10_000),
    }).map(([name, row]) => [`${section}.${name}`, row]),
  );
}

const budgetsOnly = ([path]: [string, unknown]) => path.includes('.budgetsMs.');

const CHANNEL = { kind: 'webhook', url: 'https://host/', secretVariable: 'SECRET' };

/** A channel is declared whole. */
function channelRow(field: string, value: unknown): Row {
  return { value, read: ({ channels }) => channels['hook']?.[field as 'url'] };
}

const ROWS: Record<string, Row> = {
  $schema: { value: './vigil.schema.json', read: () => 'ignored', arrives: 'ignored' },
  version: { value: 1, read: () => 1 },
  'connection.address': { value: 'host:1', read: ({ address }) => address },
  'connection.namespace': { value: 'other', read: ({ namespace }) => namespace },
  'connection.taskQueue': { value: 'other', read: ({ taskQueue }) => taskQueue },
  store: { value: 'other.db', read: ({ store }) => store, arrives: '/work/other.db' },
  agents: { value: ['a.ts'], read: ({ agentFiles }) => agentFiles, arrives: ['/work/a.ts'] },
  model: {
    value: 'openai:m',
    read: (config) => createAgents([{ name: 'a' }], config.model, config).get('a')!.models[0],
  },
  'providers.openaiBaseUrl': { value: 'https://host/v1', read: ({ providers }) => providers.openaiBaseUrl },
  'providers.anthropicBaseUrl': { value: 'https://host/v1', read: ({ providers }) => providers.anthropicBaseUrl },
  timeZone: { value: 'Asia/Kathmandu', read: ({ timeZone }) => timeZone },
  logLevel: { value: 'error', read: ({ logLevel }) => logLevel },
  'worker.leaseMs': { value: 11_000, read: ({ leaseMs }) => leaseMs },
  'worker.freezeMs': { value: 12_000, read: ({ freezeMs }) => freezeMs },
  'worker.spareWorker': { value: false, read: ({ spareWorker }) => spareWorker },
  'reminders.observeMs': { value: 90_000, read: ({ observeMs }) => observeMs },
  'worker.serveChannels': { value: false, read: ({ serveChannels }) => serveChannels },
  'channels.*.kind': channelRow('kind', 'webhook'),
  'channels.*.url': channelRow('url', 'https://other/'),
  'channels.*.secretVariable': channelRow('secretVariable', 'OTHER_SECRET'),
  'channels.*.timeoutMs': channelRow('timeoutMs', 1_500),
  'channels.*.retryMs': channelRow('retryMs', 2_500),
  'channels.*.giveUpAfterMs': channelRow('giveUpAfterMs', 3_500),
  ...rowsOf('liveness.defaults'),
  ...rowsOf('liveness.agents.*'),
  ...Object.fromEntries(Object.entries(rowsOf('liveness.models.*')).filter(budgetsOnly)),
  'liveness.slowModels': {
    value: ['unheard*'],
    read: (config) => agentOf(config).profile.budgetsMs.prefill,
    arrives: SLOW_FLOORS_MS.prefill,
  },
};

/** A name for each star of a path that the agent above goes by. */
const NAMES: Record<string, string> = { agents: 'ops', models: MODEL, channels: 'hook' };

function fileWith(path: readonly string[], value: unknown): object {
  if (path[0] === 'channels') return { channels: { hook: { ...CHANNEL, [path[2]!]: value } } };
  const names = path.map((name, index) => (name === '*' ? NAMES[path[index - 1]!]! : name));
  return names.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;
}

function load(content: object): Config {
  return loadConfig({ environment: {}, cwd: '/work', file: { path: '/work/vigil.json', content } });
}

const knobs = knobsOf(configFileSchema());

test('every setting of the file has a row here, and every row a setting', () => {
  expect(Object.keys(ROWS).sort()).toEqual(knobs.map(({ path }) => path.join('.')).sort());
});

describe.each(knobs.map(({ path }) => ({ path, name: path.join('.') })))('the setting $name', ({ path, name }) => {
  const { value, read, arrives = value } = ROWS[name] ?? { value: null, read: () => undefined };
  const config = () => load({ version: 1, ...fileWith(path, value) });

  test('takes effect when it is in the file', () => {
    expect(read(config())).toEqual(arrives);
  });

  test('takes effect in the worker process that a supervisor starts', () => {
    expect(read(loadConfig({ environment: toEnvironment(config()), cwd: '/elsewhere' }))).toEqual(arrives);
  });

  if (name !== 'version' && name !== '$schema') {
    test('is not what holds without it', () => {
      expect(read(load({ version: 1 }))).not.toEqual(arrives);
    });
  }
});
