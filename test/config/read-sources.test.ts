import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../../config/config-error.js';
import { readSources } from '../../config/read-sources.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const folder = temporaryFolder();

function write(name: string, content: object | string = { version: 1 }): string {
  const path = join(folder(), name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const fileOf = (environment: Record<string, string> = {}, config?: string) =>
  readSources({ flags: { config }, environment, cwd: folder() }).file ?? null;

test('a flag names the file before a variable, and that before the one that lies in the folder', () => {
  const [flag, variable, own] = [write('flag.json'), write('variable.json'), write('vigil.json')];
  expect(fileOf({ VIGIL_CONFIG: 'variable.json' }, 'flag.json')).toMatchObject({ path: flag });
  expect(fileOf({ VIGIL_CONFIG: 'variable.json' })).toMatchObject({ path: variable });
  expect(fileOf({ VIGIL_CONFIG: '' })).toEqual({ path: own, content: { version: 1 } });
});

test('without any file there is none', () => {
  expect(fileOf()).toBeNull();
});

test('"off" leaves the file of the folder unread', () => {
  write('vigil.json', 'no JSON');
  expect(fileOf({ VIGIL_CONFIG: 'off' })).toBeNull();
  expect(fileOf({ VIGIL_CONFIG: 'vigil.json' }, 'off')).toBeNull();
});

test.each([
  [
    'that was named and does not exist',
    { VIGIL_CONFIG: 'nowhere.json' },
    /nowhere.json does not exist; check --config/,
  ],
  ['that is no JSON', { VIGIL_CONFIG: 'broken.json' }, /broken.json is no JSON: /],
  ['that cannot be read', { VIGIL_CONFIG: 'folder' }, /folder cannot be read: /],
])('a file %s is refused', (_, environment, message) => {
  write('broken.json', '{ "version": 1,');
  mkdirSync(join(folder(), 'folder'));
  expect(() => fileOf(environment)).toThrow(ConfigError);
  expect(() => fileOf(environment)).toThrow(message);
});
