import { bundleWorkflowCode } from '@temporalio/worker';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Child } from './support/child.js';
import { temporaryFolder } from './support/temporary-folder.js';
import { vigilCommand } from './support/vigil-command.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const HISTORIES = join(ROOT, 'test', 'histories');
const REPLAY_LIMIT_MS = 60_000;
const folder = temporaryFolder();

async function replay(...args: string[]): Promise<Child> {
  const child = vigilCommand(['replay', ...args]);
  await child.hasEnded(REPLAY_LIMIT_MS);
  return child;
}

test(
  'every recorded history replays with this version of the workflow',
  async () => {
    const files = readdirSync(HISTORIES).filter((name) => name.endsWith('.json'));
    const { stdout, end } = await replay(HISTORIES);
    expect(stdout).toContain(`${files.length} replayed, 0 failed`);
    expect(end).toBe(0);
    expect(files.length).toBeGreaterThan(10);
  },
  REPLAY_LIMIT_MS,
);

test(
  'a workflow that was changed carelessly is found out',
  async () => {
    const workflowsPath = join(ROOT, 'test', 'support', 'broken-workflow.ts');
    const { code } = await bundleWorkflowCode({
      workflowsPath,
      webpackConfigHook: (config) => ({
        ...config,
        resolve: { ...config.resolve, extensionAlias: { '.js': ['.ts', '.js'] } },
      }),
    });
    const bundle = join(folder(), 'broken.js');
    writeFileSync(bundle, code);
    const { stdout, end } = await replay(join(HISTORIES, 'plain-turns.json'), '--bundle', bundle);
    expect(stdout).toContain('FAILED default/plain-turns');
    expect(end).toBe(1);
  },
  REPLAY_LIMIT_MS,
);

test.each([
  ['a path that does not exist', 'no/such/path', 'does not exist'],
  ['a file that is no history', 'package.json', 'not a workflow history'],
  ['a file that is not JSON', 'README.md', 'not JSON'],
])('%s is refused with a reason', async (_, path, reason) => {
  const { stderr, end } = await replay(join(ROOT, path));
  expect(stderr).toContain(reason);
  expect(end).toBe(2);
});
