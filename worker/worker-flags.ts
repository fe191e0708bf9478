import { Command, Option } from 'commander';
import { AgentError } from '../activities/agents.js';
import { PRECEDENCE } from '../config/layers.js';
import { ConfigError, loadConfig, toEnvironment, type Config } from '../config/load-config.js';
import { readSources } from '../config/read-sources.js';
import { StoreOpenError } from '../store/session-store.js';
import { StartError } from './start-error.js';

export interface WorkerSettings {
  readonly config: Config;
  /** The environment that gives the same configuration to a worker process of one's own, now and whenever it is started again. */
  readonly env: NodeJS.ProcessEnv;
  /** The process takes suspects alone. */
  readonly isApart: boolean;
}

/** @throws CommanderError, ConfigError */
export function readWorkerSettings(argv: string[], cwd: string, environment: NodeJS.ProcessEnv): WorkerSettings {
  const command = new Command('vigil worker')
    .description('Serves sessions of a Temporal server: a worker process, and a supervisor that keeps it running.')
    .option('--config <file>', 'the configuration file (VIGIL_CONFIG; default: vigil.json in this folder; off: none)')
    .option('--address <host:port>', "Temporal's frontend (VIGIL_ADDRESS)")
    .option('--namespace <name>', 'VIGIL_NAMESPACE')
    .option('--task-queue <name>', 'VIGIL_TASK_QUEUE')
    .option('--store <path>', 'the session store (VIGIL_STORE)')
    .option('--agent <file...>', 'agent files (VIGIL_AGENTS)')
    .option('--model <spec>', 'model of agents that name none (VIGIL_MODEL)')
    .option('--unsupervised', 'the worker process alone: when it is lost, its turns wait for their stall budget')
    .addOption(new Option('--apart', 'only calls that lost two workers, one at a time').hideHelp())
    .addHelpText('after', `\n${PRECEDENCE}`)
    .allowExcessArguments(false)
    .exitOverride()
    .parse(argv, { from: 'user' });
  const { agent: agents, apart, ...flags } = command.opts<Flags>();
  const config = loadConfig(readSources({ flags: { ...flags, agents }, environment, cwd }));
  return { config, env: { ...environment, ...toEnvironment(config) }, isApart: apart === true };
}

interface Flags {
  config?: string;
  address?: string;
  namespace?: string;
  taskQueue?: string;
  store?: string;
  agent?: string[];
  model?: string;
  apart?: true;
}

/** A failure whose message says all there is to know. */
export function isExpected(error: unknown): error is Error {
  return [ConfigError, AgentError, StoreOpenError, StartError].some((type) => error instanceof type);
}
