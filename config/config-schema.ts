/**
 * Every setting of Vigil, with its default, its range and its meaning: the one place to add a knob.
 * The published JSON schema and the table in docs/configuration.md are made from it by `npm run docs:config`.
 */
import { z } from 'zod';
import { TASK_QUEUE } from '../protocol/names.js';
import { CHANNELS, holdsPassword } from './channels-schema.js';
import { LIVENESS, wholeNumber } from './liveness-schema.js';

const LONGEST_MS = 3_600_000;

const text = z.string().trim().min(1, 'must not be empty');
const url = text
  .refine((value) => URL.canParse(value), 'must be an address like https://host/v1')
  .refine((value) => !holdsPassword(value), 'must hold no password; API keys belong in the environment');
const milliseconds = (least: number, why: string) => wholeNumber({ least, most: LONGEST_MS, unit: ' ms', why });

const CONNECTION = z.strictObject({
  address: text
    .regex(/^[^\s/]+:\d+$/, 'must be host:port')
    .default('127.0.0.1:7233')
    .describe("Temporal's frontend, as host:port."),
  namespace: text.default('default').describe("Temporal's namespace."),
  taskQueue: text.default(TASK_QUEUE).describe('The task queue that sessions are started on and workers serve.'),
});

const PROVIDERS = z.strictObject({
  openaiBaseUrl: url.optional().describe("The address that OpenAI's models are asked at, when not its own."),
  anthropicBaseUrl: url.optional().describe("The address that Anthropic's models are asked at, when not its own."),
});

const WORKER = z.strictObject({
  leaseMs: milliseconds(1_000, 'a pause of a healthy machine must not look like its end')
    .default(10_000)
    .describe('A supervisor that stands still for so long, as another sees it, has lost its worker.'),
  freezeMs: milliseconds(1_000, 'a stuck event loop of a healthy process must not look like its end')
    .default(20_000)
    .describe('A worker process that answers no ping for so long is frozen, and killed.'),
  spareWorker: z
    .boolean('must be true or false (in the environment, on or off)')
    .default(true)
    .describe('Keep a second worker process loaded: costs about 150 MB, and saves 1 to 2 seconds of each recovery.'),
  serveChannels: z
    .boolean('must be true or false (in the environment, on or off)')
    .default(true)
    .describe('Make deliveries for the declared channels. Without it, other workers must.'),
});

const REMINDERS = z.strictObject({
  observeMs: wholeNumber({ least: 1_000, most: 24 * LONGEST_MS, unit: ' ms', why: 'an observation must end' })
    .default(20 * 60_000)
    .describe(
      'Whoever observes a reminder gives up when nothing has moved in its session for so long. The reminder itself stays.',
    ),
});

/** The sections, all of them optional: what a layer leaves out, a weaker one says. */
export const SETTINGS = z.strictObject({
  connection: CONNECTION.prefault({}).describe('Where Temporal is.'),
  store: text.default('.vigil/store.db').describe('The session store: the path of a SQLite file.'),
  agents: z.array(text).default([]).describe('Agent files.'),
  model: text
    .refine((value) => !holdsPassword(value), 'must hold no password; set VIGIL_MODEL_API_KEY instead')
    .default('demo')
    .describe('The model of agents that name none: demo, openai:MODEL, anthropic:MODEL or URL#MODEL.'),
  providers: PROVIDERS.prefault({}).describe('Where models are asked. Their API keys belong in the environment.'),
  timeZone: text
    .refine(isTimeZone, 'must be an IANA time zone like Europe/Paris')
    .default('UTC')
    .describe(
      'The IANA time zone of wakes that name none. Not that of the machine: workers on different machines must agree.',
    ),
  logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('What workers log.'),
  worker: WORKER.prefault({}).describe('Worker processes and their supervisors.'),
  reminders: REMINDERS.prefault({}).describe('Reminders that are sent to sessions from outside.'),
  channels: CHANNELS,
  liveness: LIVENESS.prefault({}).describe('When silence counts as a stall, and what bounds a turn.'),
});

/** What holds, with every default filled in, except those of `liveness.defaults`. */
export type Settings = z.output<typeof SETTINGS>;

export const CONFIG_FILE = z.strictObject({
  $schema: z.string().optional().describe('The address of this schema, for editors.'),
  version: z.literal(1, 'must be 1').describe('The version of this format.'),
  ...SETTINGS.shape,
});

/** The part of JSON Schema that the settings use. */
export interface JsonSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly string[];
  readonly const?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
}

/** The schema of `vigil.json` as editors know it. */
export function configFileSchema(): JsonSchema {
  return z.toJSONSchema(CONFIG_FILE, {
    io: 'input',
    // An empty section is no default worth telling.
    override: ({ jsonSchema }) => {
      if (jsonSchema.type === 'object') delete jsonSchema.default;
    },
  }) as JsonSchema;
}

export interface KnobOfFile {
  /** `*` stands for a name that the user chooses. */
  readonly path: readonly string[];
  readonly schema: JsonSchema;
}

/** Every knob of the file, in its order. */
export function knobsOf(schema: JsonSchema, path: readonly string[] = []): KnobOfFile[] {
  const { properties, additionalProperties } = schema;
  if (typeof additionalProperties === 'object') return knobsOf(additionalProperties, [...path, '*']);
  if (properties === undefined) return [{ path, schema }];
  return Object.entries(properties).flatMap(([name, inner]) => knobsOf(inner, [...path, name]));
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
