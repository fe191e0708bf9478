/**
 * Which budgets hold for an agent on a model. The most specific word counts, phase by phase: the agent's file, then
 * `liveness.agents`, then `liveness.models`; under these stand the defaults, raised where something else would be false alarm:
 *
 * D1. A model that is slow by nature has floors; a larger default stays.
 * D2. No phase can be held below the stream gap, so a gap that is wider than a default widens that too.
 * D3. What was written for an agent or a model stands as it is; where it cannot be held, it is refused.
 */
import {
  BUDGET_RANGE,
  CALL_LIMITS,
  type LivenessConfig,
  NO_LIVENESS_CONFIG,
  type Range,
} from '../config/liveness-schema.js';
import {
  DEFAULT_PHASE_BUDGETS_MS,
  type Phase,
  type PhaseBudgets,
  PHASES,
  TURN_LIMITS,
  type TurnLimits,
  turnLimits,
} from '../protocol/liveness.js';
import type { AgentDefinition } from './agent.js';
import { identifyModel, type ModelReference, type ProviderSettings } from './models.js';
import { fits, isSlow } from './slow-models.js';

/** What the configuration says that budgets depend on. */
export interface LivenessSettings {
  readonly liveness: LivenessConfig;
  readonly providers: ProviderSettings;
}

export const NO_LIVENESS_SETTINGS: LivenessSettings = { liveness: NO_LIVENESS_CONFIG, providers: {} };

const SLOW_FLOOR_MS = 10 * 60_000;
export const SLOW_FLOORS_MS: Partial<PhaseBudgets> = {
  prefill: SLOW_FLOOR_MS,
  reasoning: SLOW_FLOOR_MS,
  thinkingGap: SLOW_FLOOR_MS,
};

/** The phase budgets of an agent's calls of a model; whether they can be held, `budgetProblems` says. */
export function budgetsFor(
  agent: AgentDefinition,
  model: ModelReference,
  settings: LivenessSettings = NO_LIVENESS_SETTINGS,
): PhaseBudgets {
  const written = Object.assign(
    {},
    ...writtenFor(agent, model, settings).map(({ budgetsMs }) => budgetsMs),
  ) as Partial<PhaseBudgets>;
  return { ...defaultsFor(model, settings, written.streaming), ...written };
}

/** What bounds the agent's turns. */
export function turnLimitsFor(agent: AgentDefinition, { liveness }: LivenessSettings): TurnLimits {
  return turnLimits((name) => limitFor(agent, name, liveness) ?? TURN_LIMITS[name].default);
}

/** What bounds each of the agent's model calls. */
export function callLimitsFor(agent: AgentDefinition, { liveness }: LivenessSettings) {
  return {
    outputCharsPerCall: limitFor(agent, 'outputCharsPerCall', liveness) ?? CALL_LIMITS.outputCharsPerCall.default,
    maxOutputTokens: limitFor(agent, 'maxOutputTokens', liveness),
  };
}

/** What is wrong with the budgets of an agent's calls of a model. */
export function budgetProblems(agent: AgentDefinition, model: ModelReference, settings: LivenessSettings): string[] {
  const budgets = budgetsFor(agent, model, settings);
  const written = writtenFor(agent, model, settings);
  return Object.entries(budgets).flatMap(([phase, ms]) => {
    const labelOf = (name: string) => {
      const { where } = written.findLast(({ budgetsMs }) => Object.hasOwn(budgetsMs, name)) ?? { where: 'budgetsMs' };
      return `${where}.${name}`;
    };
    const problem = budgetProblem(phase, ms, { gapMs: budgets.streaming, gap: labelOf('streaming') });
    return problem === null ? [] : [`agent "${agent.name}": ${labelOf(phase)} ${problem}`];
  });
}

/** What is wrong with the limits that the agent's own file gives. */
export function limitProblems(agent: AgentDefinition): string[] {
  const ranges: Record<keyof TurnLimits | keyof typeof CALL_LIMITS, Range> = { ...TURN_LIMITS, ...CALL_LIMITS };
  return (Object.keys(ranges) as (keyof typeof ranges)[]).flatMap((name) => {
    const value = agent[name];
    const { least, most } = ranges[name];
    if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return [];
    return [`agent "${agent.name}": ${name} is ${value}; allowed are ${least} to ${most}`];
  });
}

export function isBudget(ms: unknown): ms is number {
  return Number.isInteger(ms) && Number(ms) >= BUDGET_RANGE.least && Number(ms) <= BUDGET_RANGE.most;
}

interface Written {
  /** Where it is written, as its author finds it. */
  readonly where: string;
  readonly budgetsMs: Partial<PhaseBudgets>;
}

/** What is written for this agent or this model, the least specific first. */
function writtenFor(
  agent: AgentDefinition,
  model: ModelReference,
  { liveness, providers }: LivenessSettings,
): Written[] {
  const identity = identifyModel(model, providers);
  const ofModels = Object.entries(liveness.models).filter(([pattern]) => fits(pattern, identity));
  return [
    ...ofModels.map(([pattern, { budgetsMs = {} }]) => ({ where: `liveness.models.${pattern}.budgetsMs`, budgetsMs })),
    { where: `liveness.agents.${agent.name}.budgetsMs`, budgetsMs: liveness.agents[agent.name]?.budgetsMs ?? {} },
    { where: 'budgetsMs', budgetsMs: agent.budgetsMs ?? {} },
  ];
}

function defaultsFor(
  model: ModelReference,
  { liveness, providers }: LivenessSettings,
  writtenGapMs: unknown,
): PhaseBudgets {
  const defaults = { ...DEFAULT_PHASE_BUDGETS_MS, ...liveness.defaults.budgetsMs };
  const floors = isSlow(identifyModel(model, providers), liveness.slowModels) ? SLOW_FLOORS_MS : {};
  const gapMs = isBudget(writtenGapMs) ? writtenGapMs : defaults.streaming;
  const raised = PHASES.map((phase) => [phase, Math.max(defaults[phase], floors[phase] ?? 0, gapMs)]);
  return Object.fromEntries(raised);
}

function budgetProblem(phase: string, ms: number, { gapMs, gap }: { gapMs: number; gap: string }): string | null {
  if (!PHASES.includes(phase as Phase)) return `is no phase; there are: ${PHASES.join(', ')}`;
  const { least, most, unit, why } = BUDGET_RANGE;
  if (!isBudget(ms)) return `is ${ms}; allowed are ${least} to ${most}${unit} (${why})`;
  return ms >= gapMs ? null : `(${ms}) is below ${gap} (${gapMs}) and could not be held`;
}

function limitFor(
  agent: AgentDefinition,
  name: keyof TurnLimits | keyof typeof CALL_LIMITS,
  { agents, defaults }: LivenessConfig,
): number | undefined {
  return agent[name] ?? agents[agent.name]?.[name] ?? defaults[name];
}
