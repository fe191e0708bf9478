import type { LanguageModelV3FunctionTool } from '@ai-sdk/provider';
import {
  DEFAULT_PHASE_BUDGETS_MS,
  DEFAULT_PROFILE,
  type ModelLink,
  type PhaseBudgets,
  type Profile,
} from '../protocol/liveness.js';
import { messageOf } from './classify-error.js';
import type { AgentDefinition, ToolDefinition } from './agent.js';
import { toFunctionTools } from './prompt.js';

/** An agent ready to run: checked, with every default filled in. */
export interface Agent {
  name: string;
  definition: AgentDefinition;
  /** What the models of its chain are called, first choice first. */
  models: readonly string[];
  tools: ReadonlyMap<string, ToolDefinition>;
  /** The tools as every request describes them: made once, not for each call. */
  functionTools: LanguageModelV3FunctionTool[];
  profile: Profile;
}

export class AgentError extends Error {
  override name = 'AgentError';
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
/** Temporal's own timers are no finer, and nothing real is that quick. */
const SHORTEST_BUDGET_MS = 1_000;
const LONGEST_BUDGET_MS = 24 * 60 * 60_000;

/** Checks agents and names every problem at once, so that a worker starts right or says all that is wrong. */
export function createAgents(definitions: AgentDefinition[], modelName: string): Map<string, Agent> {
  const problems: string[] = [];
  const agents = new Map<string, Agent>();
  const names = new Set<string>();
  for (const definition of definitions) {
    problems.push(...agentProblems(definition));
    if (names.has(definition.name)) problems.push(`two agents are called "${definition.name}"`);
    names.add(definition.name);
    if (problems.length === 0) agents.set(definition.name, createAgent(definition, modelName));
  }
  if (problems.length > 0) throw new AgentError(`the agents cannot be used:\n- ${problems.join('\n- ')}`);
  return agents;
}

function createAgent(definition: AgentDefinition, modelName: string): Agent {
  const { name, resumesPerTurn, stepsPerTurn, scheduleToStartMs, capacityWaitPerTurnMs } = definition;
  const links = linksOf(definition, modelName);
  const profile: Profile = {
    ...DEFAULT_PROFILE,
    budgetsMs: effectiveBudgets(definition),
    ...(resumesPerTurn === undefined ? {} : { resumesPerTurn }),
    ...(stepsPerTurn === undefined ? {} : { stepsPerTurn }),
    ...(scheduleToStartMs === undefined ? {} : { scheduleToStartMs }),
    ...(capacityWaitPerTurnMs === undefined ? {} : { capacityWaitPerTurnMs }),
    ...(links.length > 1 ? { links } : {}),
  };
  const tools = new Map((definition.tools ?? []).map((tool) => [tool.name, tool]));
  return {
    name,
    definition,
    models: links.map((link) => link.model),
    tools,
    functionTools: toFunctionTools(tools.values()),
    profile,
  };
}

/** The model at a place of the agent's chain; `undefined` = the worker's default. */
export function modelAt({ model, fallbackModels = [] }: AgentDefinition, link: number): AgentDefinition['model'] {
  return link === 0 ? model : fallbackModels[link - 1];
}

function linksOf(definition: AgentDefinition, modelName: string): ModelLink[] {
  const chain = [definition.model ?? modelName, ...(definition.fallbackModels ?? [])];
  return chain.map((model) => ({
    model: typeof model === 'string' ? model : model.modelId,
    budgetsMs: effectiveBudgets(definition),
  }));
}

/** No phase can be held below the stream gap, so a gap that is wider than a default widens that too; what is written stands. */
function effectiveBudgets({ budgetsMs = {} }: AgentDefinition): PhaseBudgets {
  const gapMs = isBudget(budgetsMs.streaming) ? budgetsMs.streaming : 0;
  const defaults = Object.entries(DEFAULT_PHASE_BUDGETS_MS).map(([phase, ms]) => [phase, Math.max(ms, gapMs)]);
  return { ...(Object.fromEntries(defaults) as unknown as PhaseBudgets), ...budgetsMs };
}

function isBudget(ms: unknown): ms is number {
  return Number.isInteger(ms) && Number(ms) >= SHORTEST_BUDGET_MS && Number(ms) <= LONGEST_BUDGET_MS;
}

const isName = (name: unknown) => typeof name === 'string' && NAME.test(name);

function agentProblems(agent: AgentDefinition): string[] {
  const name = isName(agent.name) ? [] : [`agent name "${agent.name}": use 1 to 64 letters, digits, "-" or "_"`];
  return [
    ...name,
    ...budgetProblems(agent),
    ...countProblem(agent, 'resumesPerTurn', 0, 100),
    ...countProblem(agent, 'stepsPerTurn', 1, 10_000),
    ...countProblem(agent, 'maxOutputTokens', 1, 10_000_000),
    ...countProblem(agent, 'scheduleToStartMs', SHORTEST_BUDGET_MS, LONGEST_BUDGET_MS),
    ...countProblem(agent, 'capacityWaitPerTurnMs', SHORTEST_BUDGET_MS, LONGEST_BUDGET_MS),
    ...fallbackProblems(agent),
    ...toolProblems(agent),
  ];
}

function budgetProblems(agent: AgentDefinition): string[] {
  const budgets = effectiveBudgets(agent);
  return Object.entries(budgets).flatMap(([phase, ms]) => {
    const knob = `agent "${agent.name}": budgetsMs.${phase}`;
    if (!(phase in DEFAULT_PHASE_BUDGETS_MS)) {
      return [`${knob} is no phase; there are: ${Object.keys(DEFAULT_PHASE_BUDGETS_MS).join(', ')}`];
    }
    if (!isBudget(ms)) {
      return [
        `${knob} is ${ms}; allowed are ${SHORTEST_BUDGET_MS} to ${LONGEST_BUDGET_MS} ms (there is no "off": a silent call must end)`,
      ];
    }
    if (ms >= budgets.streaming) return [];
    return [`${knob} (${ms}) is below budgetsMs.streaming (${budgets.streaming}) and could not be held`];
  });
}

/** A chain is written by hand; its tables travel with each session's state. */
const LONGEST_CHAIN = 10;

function fallbackProblems({ name, fallbackModels = [] }: AgentDefinition): string[] {
  const isModel = (model: unknown) =>
    typeof model === 'string'
      ? model.trim() !== ''
      : typeof (model as { doStream?: unknown } | null)?.doStream === 'function';
  if (Array.isArray(fallbackModels) && fallbackModels.length < LONGEST_CHAIN && fallbackModels.every(isModel))
    return [];
  return [`agent "${name}": fallbackModels must be a list of at most ${LONGEST_CHAIN - 1} models`];
}

type CountKnob = 'resumesPerTurn' | 'stepsPerTurn' | 'maxOutputTokens' | 'scheduleToStartMs' | 'capacityWaitPerTurnMs';

function countProblem(agent: AgentDefinition, knob: CountKnob, least: number, most: number): string[] {
  const value = agent[knob];
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return [];
  return [`agent "${agent.name}": ${knob} is ${value}; allowed are ${least} to ${most}`];
}

function toolProblems(agent: AgentDefinition): string[] {
  const names = new Set<string>();
  return (agent.tools ?? []).flatMap((tool) => {
    const isSecond = names.has(tool.name);
    names.add(tool.name);
    return [
      ...(isName(tool.name) ? [] : [`tool name "${tool.name}": use 1 to 64 letters, digits, "-" or "_"`]),
      ...(isSecond ? [`two tools are called "${tool.name}"`] : []),
      ...silenceProblem(tool),
      ...inputProblem(tool),
      ...(typeof tool.run === 'function' ? [] : [`tool "${tool.name}": run is not a function`]),
    ].map((problem) => `agent "${agent.name}": ${problem}`);
  });
}

function silenceProblem({ name, silenceMs }: ToolDefinition): string[] {
  if (silenceMs === undefined || isBudget(silenceMs)) return [];
  return [`tool "${name}": silenceMs is ${silenceMs}; allowed are ${SHORTEST_BUDGET_MS} to ${LONGEST_BUDGET_MS}`];
}

/** Providers take JSON schemas of objects alone: anything else would fail every call of the agent. */
function inputProblem(tool: ToolDefinition): string[] {
  try {
    const [described] = toFunctionTools([tool]);
    if (described?.inputSchema.type === 'object') return [];
    return [`tool "${tool.name}": input must be an object: z.object({…})`];
  } catch (error) {
    return [`tool "${tool.name}": input cannot be told to a model: ${messageOf(error)}`];
  }
}
