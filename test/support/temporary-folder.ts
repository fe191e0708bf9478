import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A fresh folder for each test of the calling file, removed after it. */
export function temporaryFolder(): () => string {
  let folder = '';
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'vigil-test-')));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  return () => folder;
}
