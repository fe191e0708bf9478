/**
 * `vigil worker`: serves sessions until it is told to stop. Started by a supervisor with an IPC channel, it says `ready` when it takes
 * work and ends with the channel; started by hand it prints a line that begins `ready `.
 */
import { Command, CommanderError } from 'commander';
import { AgentError } from '../activities/agents.js';
import { ConfigError, loadConfig, type Config } from '../config/load-config.js';
import { findDataDir, readInstance } from '../config/instance.js';
import { StoreOpenError } from '../store/session-store.js';
import { runWorker } from './run-worker.js';
import { StartError } from './start-error.js';

process.exit(await main(process.argv.slice(2)));

async function main(argv: string[]): Promise<number> {
  try {
    const config = readConfig(argv);
    await runWorker(config);
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;
    process.stderr.write(`vigil worker: ${isExpected(error) ? error.message : stackOf(error)}\n`);
    return 1;
  }
}

/** Flags before environment before the instance that runs in this folder before defaults. */
function readConfig(argv: string[]): Config {
  const command = new Command('vigil worker')
    .description('Serves sessions of a Temporal server.')
    .option('--address <host:port>', "Temporal's frontend (VIGIL_ADDRESS)")
    .option('--namespace <name>', 'VIGIL_NAMESPACE')
    .option('--store <path>', 'the session store (VIGIL_STORE)')
    .option('--agent <file...>', 'agent files (VIGIL_AGENTS)')
    .option('--model <spec>', 'model of agents that name none (VIGIL_MODEL)')
    .allowExcessArguments(false)
    .exitOverride()
    .parse(argv, { from: 'user' });
  const flags = command.opts<{
    address?: string;
    namespace?: string;
    store?: string;
    agent?: string[];
    model?: string;
  }>();
  const instance = readInstance(findDataDir(process.cwd()));
  const given = {
    VIGIL_ADDRESS: flags.address,
    VIGIL_NAMESPACE: flags.namespace,
    VIGIL_STORE: flags.store,
    VIGIL_AGENTS: flags.agent?.join(process.platform === 'win32' ? ';' : ':'),
    VIGIL_MODEL: flags.model,
  };
  const found = instance && {
    VIGIL_ADDRESS: instance.address,
    VIGIL_NAMESPACE: instance.namespace,
    VIGIL_STORE: instance.storePath,
  };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return loadConfig({ ...found, ...process.env, ...set }, process.cwd());
}

function isExpected(error: unknown): error is Error {
  return [ConfigError, AgentError, StoreOpenError, StartError].some((type) => error instanceof type);
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
