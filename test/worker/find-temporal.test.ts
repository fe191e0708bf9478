import {
  findTemporal,
  parseServerVersion,
  type TemporalSearch,
  type TemporalSource,
} from '../../worker/dev-server/find-temporal.js';

const RECENT = 'temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)';
const OLD = 'temporal version 1.1.0 (Server 1.25.0, UI 2.30.0)';

function missing(name: string) {
  return { name, find: () => Promise.reject(new Error(`nothing in ${name}`)) };
}

/** A place that must not be asked. */
const untouchable: TemporalSource = {
  name: 'untouchable',
  find: () => {
    throw new Error('asked, although another place served');
  },
};

function aSearch(overrides: Partial<TemporalSearch> = {}): TemporalSearch {
  return { named: undefined, sources: [], versionText: () => Promise.resolve(RECENT), ...overrides };
}

function report() {
  const lines: string[] = [];
  return { lines, say: (line: string) => void lines.push(line) };
}

test('the first place that serves is used, and later ones are not asked', async () => {
  const sources = [missing('PATH'), { name: 'cache', find: () => Promise.resolve('/cache/temporal') }, untouchable];
  const found = await findTemporal(aSearch({ sources }), report().say);
  expect(found).toEqual({ path: '/cache/temporal', serverVersion: '1.32.0' });
});

test('each step says what it tries and why the one before did not serve', async () => {
  const { lines, say } = report();
  const sources = [missing('PATH'), { name: 'cache', find: () => Promise.resolve('/t') }];
  await findTemporal(aSearch({ sources }), say);
  expect(lines[0]).toMatch(/trying PATH .*VIGIL_TEMPORAL is not set/);
  expect(lines[1]).toMatch(/trying cache .*PATH: nothing in PATH/);
  expect(lines[2]).toMatch(/using \/t \(server 1\.32\.0\)/);
});

test('a server that is too old is passed over with its version as the reason', async () => {
  const { lines, say } = report();
  const sources = ['/old', '/new'].map((path) => ({ name: path, find: () => Promise.resolve(path) }));
  const versionText = (path: string) => Promise.resolve(path === '/old' ? OLD : RECENT);
  const found = await findTemporal(aSearch({ sources, versionText }), say);
  expect(found.path).toBe('/new');
  expect(lines.join('\n')).toContain('/old carries server 1.25.0, older than 1.30');
});

test('a named binary is used without looking anywhere else', async () => {
  const found = await findTemporal(aSearch({ named: '/mine', sources: [untouchable] }), report().say);
  expect(found.path).toBe('/mine');
});

test('a named binary that cannot serve is an error with a remedy, not a reason to look elsewhere', async () => {
  const versionText = () => Promise.reject(new Error('/mine was not found'));
  const search = aSearch({ named: '/mine', sources: [untouchable], versionText });
  await expect(findTemporal(search, report().say)).rejects.toThrow(
    /VIGIL_TEMPORAL names \/mine.*not found\n.*unset it/s,
  );
});

test('when nothing serves, one error lists every reason and the remedy', async () => {
  const search = aSearch({ sources: [missing('PATH'), missing('wheel')] });
  await expect(findTemporal(search, report().say)).rejects.toThrow(
    /VIGIL_TEMPORAL is not set.*nothing in PATH.*nothing in wheel.*Remedy:.*python3/s,
  );
});

test.each([
  [RECENT, '1.32.0'],
  ['temporal version 0.0.0-DEV (Server 1.33.0-156.2, UI 2.0.0)', '1.33.0-156.2'],
  ['temporal version 1.9.1', null],
])('the server version of %j is %j', (text, version) => {
  expect(parseServerVersion(text)).toBe(version);
});
