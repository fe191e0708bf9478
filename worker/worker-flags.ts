import { Command, Option } from 'commander';
import { delimiter } from 'node:path';
import { AgentError } from '../activities/agents.js';
import { findDataDir, readInstance } from '../config/instance.js';
import { ConfigError, loadConfig, type Config } from '../config/load-config.js';
import { StoreOpenError } from '../store/session-store.js';
import { StartError } from './start-error.js';

export interface WorkerSettings {
  readonly config: Config;
  /** The environment that gives the same configuration to a worker process of one's own. */
  readonly env: NodeJS.ProcessEnv;
  /** The process takes suspects alone. */
  readonly isApart: boolean;
}

/**
 * Flags before environment before the instance that runs in this folder before defaults.
 * @throws CommanderError, ConfigError
 */
export function readWorkerSettings(argv: string[], cwd: string, environment: NodeJS.ProcessEnv): WorkerSettings {
  const command = new Command('vigil worker')
    .description('Serves sessions of a Temporal server: a worker process, and a supervisor that keeps it running.')
    .option('--address <host:port>', "Temporal's frontend (VIGIL_ADDRESS)")
    .option('--namespace <name>', 'VIGIL_NAMESPACE')
    .option('--store <path>', 'the session store (VIGIL_STORE)')
    .option('--agent <file...>', 'agent files (VIGIL_AGENTS)')
    .option('--model <spec>', 'model of agents that name none (VIGIL_MODEL)')
    .option('--unsupervised', 'the worker process alone: when it is lost, its turns wait for their stall budget')
    .addOption(new Option('--apart', 'only calls that lost two workers, one at a time').hideHelp())
    .allowExcessArguments(false)
    .exitOverride()
    .parse(argv, { from: 'user' });
  const flags = command.opts<Flags>();
  const instance = readInstance(findDataDir(cwd));
  const given = {
    VIGIL_ADDRESS: flags.address,
    VIGIL_NAMESPACE: flags.namespace,
    VIGIL_STORE: flags.store,
    VIGIL_AGENTS: flags.agent?.join(delimiter),
    VIGIL_MODEL: flags.model,
  };
  const found = instance && {
    VIGIL_ADDRESS: instance.address,
    VIGIL_NAMESPACE: instance.namespace,
    VIGIL_STORE: instance.storePath,
  };
  const set = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const env = { ...found, ...environment, ...set };
  return { config: loadConfig(env, cwd), env, isApart: flags.apart === true };
}

interface Flags {
  address?: string;
  namespace?: string;
  store?: string;
  agent?: string[];
  model?: string;
  apart?: true;
}

/** A failure whose message says all there is to know. */
export function isExpected(error: unknown): error is Error {
  return [ConfigError, AgentError, StoreOpenError, StartError].some((type) => error instanceof type);
}
