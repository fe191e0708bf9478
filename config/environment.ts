import { delimiter } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

/** A variable that says what the configuration file says at `path`. */
interface Variable {
  readonly path: readonly string[];
  /** Text that has not the form passes as it is, and is refused by the schema. */
  readonly parse: (text: string) => unknown;
}

const asText = (text: string) => text;
const asNumber = (text: string) => (Number.isNaN(Number(text)) ? text : Number(text));
const asSwitch = (text: string) => ({ on: true, off: false })[text] ?? text;
/** Separated like `PATH`, or a JSON list. */
const asPaths = (text: string) =>
  text.startsWith('[') ? asJson(text) : text.split(delimiter).filter((path) => path.trim() !== '');

export const VARIABLES = {
  VIGIL_ADDRESS: { path: ['connection', 'address'], parse: asText },
  VIGIL_NAMESPACE: { path: ['connection', 'namespace'], parse: asText },
  VIGIL_TASK_QUEUE: { path: ['connection', 'taskQueue'], parse: asText },
  VIGIL_STORE: { path: ['store'], parse: asText },
  VIGIL_AGENTS: { path: ['agents'], parse: asPaths },
  VIGIL_MODEL: { path: ['model'], parse: asText },
  OPENAI_BASE_URL: { path: ['providers', 'openaiBaseUrl'], parse: asText },
  ANTHROPIC_BASE_URL: { path: ['providers', 'anthropicBaseUrl'], parse: asText },
  VIGIL_TIME_ZONE: { path: ['timeZone'], parse: asText },
  VIGIL_LOG_LEVEL: { path: ['logLevel'], parse: asText },
  VIGIL_LEASE_MS: { path: ['worker', 'leaseMs'], parse: asNumber },
  VIGIL_FREEZE_MS: { path: ['worker', 'freezeMs'], parse: asNumber },
  VIGIL_SPARE_WORKER: { path: ['worker', 'spareWorker'], parse: asSwitch },
  VIGIL_REMINDER_OBSERVE_MS: { path: ['reminders', 'observeMs'], parse: asNumber },
  VIGIL_SERVE_CHANNELS: { path: ['worker', 'serveChannels'], parse: asSwitch },
  /** The whole sections as JSON. */
  VIGIL_CHANNELS: { path: ['channels'], parse: asJson },
  VIGIL_LIVENESS: { path: ['liveness'], parse: asJson },
} as const satisfies Record<string, Variable>;

/** Keys of providers: never in a file, never shown. */
export const SECRET_VARIABLES = ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'VIGIL_MODEL_API_KEY'] as const;

/** Names the configuration file. */
export const FILE_VARIABLE = 'VIGIL_CONFIG';
/** As a name of a file: none is read. */
export const NO_FILE = 'off';

/** Names of the variables that are read. */
export const CONFIG_VARIABLES: readonly string[] = [...Object.keys(VARIABLES), ...SECRET_VARIABLES, FILE_VARIABLE];

/** The variable's value; an empty one counts as not set. */
export function variable(environment: Environment, name: string): string | undefined {
  const value = environment[name]?.trim();
  return value === '' ? undefined : value;
}

/** What the environment says, in the form of the configuration file; not checked yet. */
export function documentOf(environment: Environment): Record<string, unknown> {
  const document: Record<string, unknown> = {};
  for (const [name, { path, parse }] of Object.entries<Variable>(VARIABLES)) {
    const text = variable(environment, name);
    if (text === undefined) continue;
    const [section, key] = path as [string, string?];
    document[section] = key === undefined ? parse(text) : { ...(document[section] as object), [key]: parse(text) };
  }
  return document;
}

/** The variable that says what stands at a path, and the rest of the path within it. */
export function variableAt(path: readonly string[]): { name: string; rest: readonly string[] } {
  const found = Object.entries<Variable>(VARIABLES).find(({ 1: { path: start } }) =>
    start.every((part, index) => part === path[index]),
  );
  const [name, { path: start }] = found!;
  return { name, rest: path.slice(start.length) };
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
