import { Ajv } from 'ajv';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { CONFIG_VARIABLES } from '../config/environment.js';
import { SEARCH_ATTRIBUTES, TASK_QUEUE } from '../protocol/names.js';
import { DYNAMIC_CONFIG } from '../worker/dev-server/server-arguments.js';
import { composeStructure } from './support/compose-structure.js';

interface Service {
  image?: string;
  command?: string[];
  entrypoint?: string[];
  environment?: Record<string, string | null>;
  depends_on?: Record<string, { condition: string }>;
  volumes?: string[];
  healthcheck?: { test: string[] };
}

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const compose = parse(read('docker-compose.yml'), { merge: true }) as {
  services: Record<string, Service>;
  volumes: Record<string, null>;
};
const services = Object.entries(compose.services);

function service(name: string): Service {
  const found = compose.services[name];
  if (!found) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
}

/** What a container gets when nothing is set outside. */
function environmentOf(name: string): Record<string, string> {
  const values = Object.entries(service(name).environment ?? {}).filter(([, value]) => value !== null);
  return Object.fromEntries(values.map(([key, value]) => [key, String(value).replace(/\$\{\w+:-([^}]*)\}/g, '$1')]));
}

/** `[source, target]` of the files and folders of this project that a service mounts. */
function mountsOf({ volumes = [] }: Service): [source: string, target: string][] {
  return volumes
    .map((volume) => volume.split(':') as [string, string])
    .filter(([source]) => source.startsWith('.'))
    .map(([source, target]) => [source, target]);
}

const composeConfig = spawnSync('docker', ['compose', 'version'], { timeout: 20_000 });
const hasCompose = composeConfig.status === 0;

describe('docker-compose.yml', () => {
  test('has the structure of a Compose file', () => {
    const validate = new Ajv({ strict: false, allErrors: true }).compile(composeStructure);
    validate(compose);
    expect(validate.errors ?? []).toEqual([]);
  });

  const reason = hasCompose ? '' : ' (skipped: the docker compose plugin does not run here)';
  (hasCompose ? test : test.skip)(`is accepted by docker compose config${reason}`, () => {
    const config = spawnSync('docker', ['compose', 'config', '--quiet'], {
      cwd: root,
      timeout: 60_000,
      encoding: 'utf8',
    });
    expect(config.stderr).not.toMatch(/error|invalid/i);
    expect(config.status).toBe(0);
  });

  test('pins every image to a version', () => {
    for (const [name, { image }] of services) {
      if (name === 'vigil-worker') continue; // built from the Dockerfile
      expect(image).toMatch(/:\d+(\.\d+)+$/);
    }
  });

  test('waits only for services that exist, in a way that they can satisfy', () => {
    for (const [name, { depends_on = {} }] of services) {
      for (const [target, { condition }] of Object.entries(depends_on)) {
        expect({ name, target, exists: target in compose.services }).toEqual({ name, target, exists: true });
        const { healthcheck } = service(target);
        if (condition === 'service_healthy')
          expect({ target, healthcheck }).not.toEqual({ target, healthcheck: undefined });
      }
    }
  });

  test('mounts files that exist and volumes that are declared', () => {
    for (const [, { volumes = [] }] of services) {
      for (const volume of volumes) {
        const [source = ''] = volume.split(':');
        if (source.startsWith('.'))
          expect({ source, isFile: statSync(join(root, source)).isFile() }).toEqual({ source, isFile: true });
        else expect(Object.keys(compose.volumes)).toContain(source);
      }
    }
  });

  test('runs scripts that it mounts and gives them every variable they read', () => {
    for (const name of ['temporal-schema', 'temporal-namespace']) {
      const [, script] = service(name).entrypoint ?? [];
      const [source] = mountsOf(service(name)).find(([, target]) => target === script) ?? [];
      if (source === undefined) throw new Error(`${name} runs ${script}, which no mount provides`);
      const variables = [...read(source).matchAll(/\$\{?([A-Z][A-Z_]+)/g)].map(([, variable]) => variable);
      expect(Object.keys(environmentOf(name))).toEqual(expect.arrayContaining(variables));
      const syntax = spawnSync('sh', ['-n', join(root, source)], { encoding: 'utf8', timeout: 10_000 });
      expect(syntax.stderr).toBe('');
    }
  });

  test('uses one database user, password and pair of names everywhere', () => {
    const schema = environmentOf('temporal-schema');
    const server = environmentOf('temporal');
    const database = environmentOf('postgres');
    expect([schema['SQL_USER'], server['POSTGRES_USER']]).toEqual(Array(2).fill(database['POSTGRES_USER']));
    expect([schema['SQL_PASSWORD'], server['POSTGRES_PWD']]).toEqual(Array(2).fill(database['POSTGRES_PASSWORD']));
    expect([schema['DBNAME'], schema['VISIBILITY_DBNAME']]).toEqual([server['DBNAME'], server['VISIBILITY_DBNAME']]);
    expect([schema['SQL_HOST'], server['POSTGRES_SEEDS']]).toEqual(['postgres', 'postgres']);
    expect([schema['SQL_PLUGIN'], server['DB']]).toEqual(['postgres12', 'postgres12']);
  });

  test('leaves room for the connections of a loaded Temporal server', () => {
    const [, connections] = /max_connections=(\d+)/.exec(service('postgres').command?.join(' ') ?? '') ?? [];
    expect(Number(connections)).toBeGreaterThanOrEqual(120);
  });

  test('starts the server with enough history shards, for that cannot be mended later', () => {
    expect(environmentOf('temporal')['NUM_HISTORY_SHARDS']).toBe('512');
  });

  test('gives the server the dynamic settings of the embedded one', () => {
    const path = environmentOf('temporal')['DYNAMIC_CONFIG_FILE_PATH'];
    const [source] = mountsOf(service('temporal')).find(([, target]) => target === path) ?? [];
    if (source === undefined) throw new Error(`the server reads ${path}, which no mount provides`);
    const settings = parse(read(source)) as Record<string, { value: unknown }[]>;
    const values = Object.entries(settings).map(([key, [setting]]) => [key, JSON.stringify(setting?.value)]);
    expect(Object.fromEntries(values)).toEqual(DYNAMIC_CONFIG);
  });

  test('registers the search attributes that sessions use', () => {
    const registered = [...read('docker/setup-namespace.sh').matchAll(/--name (\w+) --type Keyword/g)].map(
      ([, name]) => name,
    );
    expect(registered.sort()).toEqual(Object.values(SEARCH_ATTRIBUTES).sort());
  });

  test('gives the worker only variables that the configuration reads', () => {
    const given = Object.keys(service('vigil-worker').environment ?? {});
    expect(given.filter((name) => !CONFIG_VARIABLES.includes(name))).toEqual([]);
  });

  test('puts the worker on the server, namespace and queue that the other services set up', () => {
    const worker = environmentOf('vigil-worker');
    expect(worker['VIGIL_ADDRESS']).toBe(environmentOf('temporal-namespace')['TEMPORAL_ADDRESS']);
    expect(worker['VIGIL_NAMESPACE']).toBe(environmentOf('temporal-namespace')['VIGIL_NAMESPACE']);
    expect(worker['VIGIL_TASK_QUEUE']).toBe(TASK_QUEUE);
    const [, data] = service('vigil-worker').volumes?.[0]?.split(':') ?? [];
    expect(worker['VIGIL_STORE']?.startsWith(`${data}/`)).toBe(true);
  });
});

describe('Dockerfile', () => {
  test('copies and starts only what exists', () => {
    const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+)$/gm)]
      .flatMap(([, paths = '']) => paths.split(' ').slice(0, -1))
      .filter((path) => path !== '.');
    expect(copied.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    expect(read('Dockerfile')).toContain('ENTRYPOINT ["node", "bin/vigil.mjs"]');
  });
});
