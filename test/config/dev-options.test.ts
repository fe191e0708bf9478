import { parseDevOptions, type DevOptions } from '../../config/dev-options.js';

function parse(...argv: string[]): DevOptions {
  const parsed = parseDevOptions(argv, '/work');
  if (parsed.kind === 'exit') throw new Error(`exit ${parsed.code}`);
  return parsed.options;
}

test('without flags: the demo session, default ports, with the web UI', () => {
  expect(parse()).toMatchObject({ headless: false, session: 'demo', ui: true, agents: [], temporalPort: undefined });
});

test('paths are taken from the folder of the caller', () => {
  const { dataDir, agents } = parse('--data-dir', 'data', '--agent', 'a.ts', '/b.ts', '--agent', 'c.ts');
  expect(dataDir).toBe('/work/data');
  expect(agents).toEqual(['/work/a.ts', '/b.ts', '/work/c.ts']);
});

test('port 0 is kept apart from no port', () => {
  expect(parse('--temporal-port', '0', '--no-ui')).toMatchObject({ temporalPort: 0, ui: false });
});

describe('bad flags', () => {
  const { write } = process.stderr;
  beforeEach(() => {
    process.stderr.write = () => true;
  });
  afterEach(() => {
    process.stderr.write = write;
  });

  test.each([['--temporal-port', 'x'], ['--temporal-port', '65536'], ['--nonesuch'], ['surplus']])(
    '%s %s: exit code 1',
    (...argv) => {
      expect(parseDevOptions(argv, '/work')).toEqual({ kind: 'exit', code: 1 });
    },
  );
});
