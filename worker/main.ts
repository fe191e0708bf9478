/**
 * A worker process: serves sessions until it is told to stop. Started by a supervisor with an IPC channel, it takes work when it is told to
 * (`child-process.ts`) and ends with the channel; started by hand (`vigil worker --unsupervised`) it prints a line that begins `ready `.
 */
import { CommanderError } from 'commander';
import { runWorker } from './run-worker.js';
import { isExpected, readWorkerSettings } from './worker-flags.js';

process.exit(await main(process.argv.slice(2)));

async function main(argv: string[]): Promise<number> {
  try {
    const { config, isApart } = readWorkerSettings(argv, process.cwd(), process.env);
    await runWorker(config, { isApart });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    process.stderr.write(`vigil worker: ${isExpected(error) ? error.message : stackOf(error)}\n`);
    return 1;
  }
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
