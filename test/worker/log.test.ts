import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../worker/log.js';

const folder = mkdtempSync(join(tmpdir(), 'vigil-log-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('what is logged is written at once', () => {
  const path = join(folder, 'worker.log');
  createLog('info', openSync(path, 'a')).info('serving');
  expect(readFileSync(path, 'utf8')).toMatch(/"msg":"serving"/);
});

test('a log on a full disk fails nobody who writes to it', () => {
  const log = createLog('info', openSync('/dev/full', 'w'));
  for (let line = 0; line < 3; line++) expect(() => log.warn('asking the model again')).not.toThrow();
});
