import { Worker, DefaultLogger, Runtime } from '@temporalio/worker';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { compiledPath } from '../../config/package-root.js';
import { SessionError } from '../session-error.js';

/** Replays recorded histories (JSON, as `temporal workflow show --output json` prints them) against this version's workflow. */
export async function replay(
  path: string,
  { bundle = compiledPath('workflow-bundle.js') }: { bundle?: string },
): Promise<number> {
  Runtime.install({ logger: new DefaultLogger('ERROR', () => undefined) });
  const files = historyFiles(path);
  const histories = files.map((file) => ({
    workflowId: `default/${basename(file, '.json')}`,
    history: readHistory(file),
  }));
  let failed = 0;
  const results = Worker.runReplayHistories({ workflowBundle: { codePath: bundle } }, histories);
  for await (const { workflowId, error } of results) {
    if (error) failed++;
    process.stdout.write(error ? `FAILED ${workflowId}: ${error.message}\n` : `ok     ${workflowId}\n`);
  }
  process.stdout.write(`${files.length - failed} replayed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
}

function historyFiles(path: string): string[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found)
    throw new SessionError('invalid_input', `${path} does not exist; give a history file or a folder of them`);
  if (!found.isDirectory()) return [path];
  const files = readdirSync(path).filter((name) => name.endsWith('.json'));
  if (files.length === 0) throw new SessionError('invalid_input', `${path} holds no *.json history`);
  return files.sort().map((name) => join(path, name));
}

function readHistory(file: string): unknown {
  try {
    const history = JSON.parse(readFileSync(file, 'utf8')) as { events?: unknown };
    if (Array.isArray(history.events)) return history;
  } catch (cause) {
    throw new SessionError('invalid_input', `${file} is not JSON`, { cause });
  }
  throw new SessionError('invalid_input', `${file} is not a workflow history: it has no "events"`);
}
