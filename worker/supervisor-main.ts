/** `vigil worker`: keeps a worker process running until it is told to stop. Prints a line that begins `ready ` when messages are served. */
import { CommanderError } from 'commander';
import { checkServer } from './check-server.js';
import { StopRequest } from './stop-request.js';
import { isExpected, readWorkerSettings, type WorkerSettings } from './worker-flags.js';
import { WorkerUnfitError } from './worker-process.js';
import { WorkerSupervisor } from './worker-supervisor.js';

// Before the main below runs: a class is not hoisted.
/** No worker will run any more; the message says why. */
class SupervisionEndedError extends Error {
  override readonly name = 'SupervisionEndedError';
}

const report = (line: string): void => void process.stderr.write(`vigil worker: ${line}\n`);
const stop = new StopRequest(process.send !== undefined);

process.exit(await main(process.argv.slice(2)));

async function main(argv: string[]): Promise<number> {
  try {
    await supervise(readWorkerSettings(argv, process.cwd(), process.env));
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 0;
    if (error instanceof CommanderError) return error.exitCode;
    report(describe(error));
    return 1;
  }
}

async function supervise({ config, env }: WorkerSettings): Promise<void> {
  await checkServer(config);
  const supervisor = await WorkerSupervisor.open({ config, env, logPath: null, onStarted: () => undefined, report });
  stop.onHurry(() => supervisor.kill());
  try {
    const worker = await Promise.race([supervisor.start(), stop.requested]);
    if (worker === undefined) return;
    process.stdout.write(`ready worker pid=${process.pid} child=${worker.pid}\n`);
    process.send?.({ kind: 'ready', child: worker.pid });
    const failure = await Promise.race([supervisor.gaveUp, stop.requested]);
    if (failure !== undefined) throw new SupervisionEndedError(failure);
  } finally {
    await supervisor.stop();
  }
}

function describe(error: unknown): string {
  const isPlain = isExpected(error) || error instanceof WorkerUnfitError || error instanceof SupervisionEndedError;
  if (isPlain) return (error as Error).message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
