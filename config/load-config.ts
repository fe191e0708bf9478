import { resolve } from 'node:path';
import { z } from 'zod';
import { TASK_QUEUE } from '../protocol/names.js';

/** Everything that Vigil takes from its environment. Nothing else reads it. */
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
}

export interface ProviderKeys {
  openaiApiKey: string | undefined;
  openaiBaseUrl: string | undefined;
  anthropicApiKey: string | undefined;
  anthropicBaseUrl: string | undefined;
  compatibleApiKey: string | undefined;
}

export class ConfigError extends Error {
  override name = 'ConfigError';
}

const text = z.string().trim().min(1);
const url = text.refine((value) => URL.canParse(value), 'must be an address like https://host/v1');
const duration = (least: number) => z.coerce.number().int().min(least).max(3_600_000);

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const SCHEMA = z.object({
  VIGIL_ADDRESS: text.regex(/^[^\s/]+:\d+$/, 'must be host:port').default('127.0.0.1:7233'),
  VIGIL_NAMESPACE: text.default('default'),
  VIGIL_TASK_QUEUE: text.default(TASK_QUEUE),
  VIGIL_STORE: text.default('.vigil/store.db'),
  VIGIL_AGENTS: z.string().default(''),
  VIGIL_MODEL: text.default('demo'),
  // Of wakes that name no zone. Not the machine's own: workers on different machines must agree.
  VIGIL_TIME_ZONE: text.refine(isTimeZone, 'must be an IANA time zone like Europe/Paris').default('UTC'),
  VIGIL_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  // A pause of a healthy machine must not look like its end; a recovery cannot be faster than this.
  VIGIL_LEASE_MS: duration(1_000).default(10_000),
  // More than any pause of a healthy process: a stuck event loop, a swapping machine.
  VIGIL_FREEZE_MS: duration(1_000).default(20_000),
  // Costs the memory of an idle process (about 150 MB), and saves more than a second of each recovery.
  VIGIL_SPARE_WORKER: z.enum(['on', 'off']).default('on'),
  VIGIL_MODEL_API_KEY: text.optional(),
  OPENAI_API_KEY: text.optional(),
  OPENAI_BASE_URL: url.optional(),
  ANTHROPIC_API_KEY: text.optional(),
  ANTHROPIC_BASE_URL: url.optional(),
});

/** Names of the variables that are read. */
export const CONFIG_VARIABLES = Object.keys(SCHEMA.shape);

/**
 * Reads a configuration. Pure: the same environment gives the same answer. An empty variable counts as not set.
 * @throws ConfigError that lists every problem.
 */
export function loadConfig(environment: Readonly<Record<string, string | undefined>>, cwd: string): Config {
  const set = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value.trim() !== ''),
  );
  const parsed = SCHEMA.safeParse(set);
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new ConfigError(`the environment cannot be used:\n- ${problems.join('\n- ')}`);
  }
  const { data } = parsed;
  return Object.freeze({
    address: data.VIGIL_ADDRESS,
    namespace: data.VIGIL_NAMESPACE,
    taskQueue: data.VIGIL_TASK_QUEUE,
    store: /^[a-z]+:\/\//.test(data.VIGIL_STORE) ? data.VIGIL_STORE : resolve(cwd, data.VIGIL_STORE),
    agentFiles: splitPaths(data.VIGIL_AGENTS, cwd),
    model: data.VIGIL_MODEL,
    timeZone: data.VIGIL_TIME_ZONE,
    logLevel: data.VIGIL_LOG_LEVEL,
    leaseMs: data.VIGIL_LEASE_MS,
    freezeMs: data.VIGIL_FREEZE_MS,
    spareWorker: data.VIGIL_SPARE_WORKER === 'on',
    providers: {
      openaiApiKey: data.OPENAI_API_KEY,
      openaiBaseUrl: data.OPENAI_BASE_URL,
      anthropicApiKey: data.ANTHROPIC_API_KEY,
      anthropicBaseUrl: data.ANTHROPIC_BASE_URL,
      compatibleApiKey: data.VIGIL_MODEL_API_KEY,
    },
  });
}

function splitPaths(list: string, cwd: string): string[] {
  const separator = process.platform === 'win32' ? ';' : ':';
  return list
    .split(separator)
    .filter((path) => path.trim() !== '')
    .map((path) => resolve(cwd, path));
}
