import { resolve } from 'node:path';
import { type Environment, NO_FILE, variable } from './environment.js';
import { type ConfigSources, layersOf, resolveStore } from './layers.js';
import type { LivenessConfig } from './liveness-schema.js';
import type { WebhookChannel } from './channels-schema.js';
import { settingsOf } from './settings.js';

export type { WebhookChannel } from './channels-schema.js';
export { ConfigError } from './config-error.js';

/** Everything that Vigil takes from its surroundings. */
export interface Config {
  /** `host:port` of Temporal's frontend. */
  address: string;
  namespace: string;
  taskQueue: string;
  /** Path of the SQLite file, or the address of a database. */
  store: string;
  /** Agent files, absolute. */
  agentFiles: string[];
  /** Model of agents that name none. */
  model: string;
  providers: ProviderKeys;
  /** A supervisor that stands still for so long, as another sees it, has lost its worker. */
  leaseMs: number;
  /** A worker process that answers no ping for so long is frozen, and killed. */
  freezeMs: number;
  /** Whether a supervisor keeps a second worker process loaded, so that a lost one is replaced in a moment. */
  spareWorker: boolean;
  /** IANA zone of wakes that name none. */
  timeZone: string;
  logLevel: 'debug' | 'info' | 'warn' | 'error';
  /** Milliseconds without progress of its session after which a reminder counts as not observed. */
  observeMs: number;
  /** Whether this worker makes deliveries for the declared channels. */
  serveChannels: boolean;
  channels: Readonly<Record<string, WebhookChannel>>;
  /** By channel; of those alone whose variable is set. */
  channelSecrets: Readonly<Record<string, string>>;
  liveness: LivenessConfig;
}

export interface ProviderKeys {
  openaiApiKey: string | undefined;
  openaiBaseUrl: string | undefined;
  anthropicApiKey: string | undefined;
  anthropicBaseUrl: string | undefined;
  compatibleApiKey: string | undefined;
}

/**
 * Makes a configuration. Pure: the same sources give the same answer. An empty variable counts as not set.
 * @throws ConfigError that lists every problem.
 */
export function loadConfig(sources: ConfigSources): Config {
  const { connection, store, agents, model, providers, timeZone, logLevel, worker, reminders, channels, liveness } =
    settingsOf(layersOf(sources));
  const { environment, cwd } = sources;
  return Object.freeze({
    ...connection,
    ...worker,
    ...reminders,
    ...{ model, timeZone, logLevel, channels, liveness },
    channelSecrets: secretsOf(channels, environment),
    store: resolveStore(cwd, store),
    agentFiles: agents.map((path) => resolve(cwd, path)),
    providers: {
      openaiApiKey: variable(environment, 'OPENAI_API_KEY'),
      openaiBaseUrl: providers.openaiBaseUrl,
      anthropicApiKey: variable(environment, 'ANTHROPIC_API_KEY'),
      anthropicBaseUrl: providers.anthropicBaseUrl,
      compatibleApiKey: variable(environment, 'VIGIL_MODEL_API_KEY'),
    },
  });
}

function secretsOf(channels: Config['channels'], environment: Environment): Record<string, string> {
  const found = Object.entries(channels).map(([name, { secretVariable }]) => [
    name,
    variable(environment, secretVariable),
  ]);
  return Object.fromEntries(found.filter(([, secret]) => secret !== undefined)) as Record<string, string>;
}

/** The variables that give another process the same configuration, whatever files it finds. API keys and signing secrets it inherits. */
export function toEnvironment(config: Config): Record<string, string> {
  const { openaiBaseUrl, anthropicBaseUrl } = config.providers;
  return {
    VIGIL_CONFIG: NO_FILE,
    VIGIL_ADDRESS: config.address,
    VIGIL_NAMESPACE: config.namespace,
    VIGIL_TASK_QUEUE: config.taskQueue,
    VIGIL_STORE: config.store,
    VIGIL_AGENTS: JSON.stringify(config.agentFiles),
    VIGIL_MODEL: config.model,
    VIGIL_TIME_ZONE: config.timeZone,
    VIGIL_LOG_LEVEL: config.logLevel,
    VIGIL_LEASE_MS: String(config.leaseMs),
    VIGIL_FREEZE_MS: String(config.freezeMs),
    VIGIL_SPARE_WORKER: config.spareWorker ? 'on' : 'off',
    VIGIL_REMINDER_OBSERVE_MS: String(config.observeMs),
    VIGIL_SERVE_CHANNELS: config.serveChannels ? 'on' : 'off',
    VIGIL_CHANNELS: JSON.stringify(config.channels),
    VIGIL_LIVENESS: JSON.stringify(config.liveness),
    ...(openaiBaseUrl === undefined ? {} : { OPENAI_BASE_URL: openaiBaseUrl }),
    ...(anthropicBaseUrl === undefined ? {} : { ANTHROPIC_BASE_URL: anthropicBaseUrl }),
  };
}
