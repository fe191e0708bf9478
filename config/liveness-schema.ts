import { z } from 'zod';
import { LIMITS } from '../protocol/limits.js';
import {
  DEFAULT_PHASE_BUDGETS_MS,
  type Knob,
  type Phase,
  PHASES,
  TURN_LIMIT_NAMES,
  TURN_LIMITS,
  type TurnLimits,
} from '../protocol/liveness.js';

/** What is allowed for a number, and why where that is no matter of course. */
export interface Range {
  readonly least: number;
  readonly most: number;
  readonly unit?: string;
  readonly why?: string;
}

/** Temporal's own timers are no finer than the least, and nothing real is that quick. */
export const BUDGET_RANGE: Range = {
  ...{ least: 1_000, most: 24 * 60 * 60_000, unit: ' ms' },
  why: 'there is no "off": a silent call must end',
};

/** What bounds one model call, apart from the silence of its phases. */
export const CALL_LIMITS = {
  outputCharsPerCall: {
    ...{ default: LIMITS.outputCharsPerCall, least: 1_000, most: 10_000_000 },
    description:
      'Characters that one model call may produce: text, reasoning and tool arguments. More of them end the turn.',
  },
  maxOutputTokens: {
    ...{ least: 1, most: 10_000_000 },
    description:
      "Tokens that one model call may produce, as the provider is told; without it, the provider's own limit.",
  },
} as const;

const BUDGET_MEANINGS: Readonly<Record<Phase, string>> = {
  setup: 'Our own work before the request: store and transcript.',
  connect: 'Until the request has been sent.',
  prefill: 'From the request to the first content of the answer.',
  reasoning: 'Between two pieces of reasoning.',
  thinkingGap: 'Between two blocks of the answer, where a model may think unseen.',
  streaming:
    'Between two pieces of text or tool arguments: the heartbeat timeout. No other phase can be held below it.',
  finish: 'Our own work after the answer: the writes to the store.',
};

/** A whole number, refused with the range that is allowed. */
export function wholeNumber({ least, most, unit = '', why }: Range) {
  const error = ({ input }: { input?: unknown }) =>
    `is ${JSON.stringify(input)}; allowed are ${least} to ${most}${unit}${why === undefined ? '' : ` (${why})`}`;
  return z.number({ error }).int({ error }).min(least, { error }).max(most, { error });
}

type About = Pick<Knob, 'description'> & Partial<Pick<Knob, 'default'>>;
type OptionalNumber = z.ZodExactOptional<z.ZodNumber>;
type DescribeKnob = (range: Range, about: About) => OptionalNumber;

/** The default is described and not filled in: what was written counts for more than what was not. */
const withDefault: DescribeKnob = (range, { description, ...about }) =>
  wholeNumber(range)
    .exactOptional()
    .meta({ description, ...(about.default === undefined ? {} : { default: about.default }) });

/** Where nothing is written, something less specific counts. */
const withoutDefault: DescribeKnob = (range, { description }) =>
  wholeNumber(range).exactOptional().meta({ description });

function budgets(knob: DescribeKnob) {
  const shape = PHASES.map((phase) => [
    phase,
    knob(BUDGET_RANGE, { default: DEFAULT_PHASE_BUDGETS_MS[phase], description: BUDGET_MEANINGS[phase] }),
  ]);
  return z
    .strictObject(Object.fromEntries(shape) as Record<Phase, OptionalNumber>)
    .exactOptional()
    .describe('Milliseconds without progress that each phase of a model call may last.');
}

function limits(knob: DescribeKnob) {
  const turn = TURN_LIMIT_NAMES.map((name) => [name, knob(TURN_LIMITS[name], TURN_LIMITS[name])]);
  const { outputCharsPerCall, maxOutputTokens } = CALL_LIMITS;
  return z.strictObject({
    budgetsMs: budgets(knob),
    ...(Object.fromEntries(turn) as Record<keyof TurnLimits, OptionalNumber>),
    outputCharsPerCall: knob(outputCharsPerCall, outputCharsPerCall),
    maxOutputTokens: knob(maxOutputTokens, maxOutputTokens),
  });
}

const agentName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'is no name of an agent');
const pattern = z.string().trim().min(1);

export const LIVENESS = z.strictObject({
  defaults: limits(withDefault)
    .prefault({})
    .describe('What holds for every agent and model of which nothing more specific is said.'),
  agents: z
    .record(agentName, limits(withoutDefault))
    .default({})
    .describe("By the agent's name. Only what the agent's own file says is more specific."),
  models: z
    .record(pattern, z.strictObject({ budgetsMs: budgets(withoutDefault) }))
    .default({})
    .describe(
      'By a pattern of model specifications, like "openai:gpt-5*", or of models by their own name, like "gpt-5*"; "*" stands for any text. Of several that fit, the later counts.',
    ),
  slowModels: z
    .array(pattern)
    .default([])
    .describe(
      'Patterns of models that think or load for minutes before their first token, besides the known ones: their prefill, reasoning and thinkingGap budgets are 10 minutes at least.',
    ),
});

/** The `liveness` section; read only by `budgetsFor` and its neighbours in `activities/`. */
export type LivenessConfig = z.output<typeof LIVENESS>;

export const NO_LIVENESS_CONFIG: LivenessConfig = LIVENESS.parse({});

/** Budgets that were written next to a stream gap that is wider than they are: they could not be held. */
export function budgetsBelowGap({ defaults, agents, models }: LivenessConfig): { path: string[]; problem: string }[] {
  const named = [...Object.entries({ agents, models })].flatMap(([section, entries]) =>
    Object.entries(entries).map(([name, { budgetsMs }]) => ({
      at: ['liveness', section, name, 'budgetsMs'],
      budgetsMs,
    })),
  );
  const { streaming } = DEFAULT_PHASE_BUDGETS_MS;
  const together = { at: ['liveness', 'defaults', 'budgetsMs'], budgetsMs: { streaming, ...defaults.budgetsMs } };
  return [together, ...named].flatMap(({ at, budgetsMs = {} }) =>
    Object.entries(budgetsMs)
      .filter(([, ms]) => ms < (budgetsMs.streaming ?? 0))
      .map(([phase, ms]) => ({
        path: [...at, phase],
        problem: `is ${ms}, below ${at.join('.')}.streaming (${budgetsMs.streaming}), and could not be held`,
      })),
  );
}
