import type { LanguageModelV3FunctionTool } from '@ai-sdk/provider';
import { BUDGET_RANGE } from '../config/liveness-schema.js';
import type { ModelLink, Profile } from '../protocol/liveness.js';
import type { AgentDefinition, ToolDefinition } from './agent.js';
import {
  budgetProblems,
  budgetsFor,
  callLimitsFor,
  isBudget,
  limitProblems,
  type LivenessSettings,
  NO_LIVENESS_SETTINGS,
  turnLimitsFor,
} from './budgets.js';
import { messageOf } from './classify-error.js';
import { unknownAgentKeys, unknownToolKeys } from './definition-keys.js';
import type { ModelReference } from './models.js';
import { toFunctionTools } from './prompt.js';
import { createWakeTools, isWakeTool } from './wake-tools.js';

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
  callLimits: ReturnType<typeof callLimitsFor>;
}

export class AgentError extends Error {
  override name = 'AgentError';
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

/**
 * Checks agents and names every problem at once, so that a worker starts right or says all that is wrong.
 * @throws AgentError
 */
export function createAgents(
  definitions: AgentDefinition[],
  defaultModel: string,
  settings: LivenessSettings = NO_LIVENESS_SETTINGS,
): Map<string, Agent> {
  const problems: string[] = [];
  const agents = new Map<string, Agent>();
  const names = new Set<string>();
  for (const definition of definitions) {
    problems.push(...agentProblems(definition, defaultModel, settings));
    if (names.has(definition.name)) problems.push(`two agents are called "${definition.name}"`);
    names.add(definition.name);
    if (problems.length === 0) agents.set(definition.name, createAgent(definition, defaultModel, settings));
  }
  if (problems.length > 0) throw new AgentError(`the agents cannot be used:\n- ${problems.join('\n- ')}`);
  return agents;
}

function createAgent(definition: AgentDefinition, defaultModel: string, settings: LivenessSettings): Agent {
  const { name } = definition;
  const links = linksOf(definition, defaultModel, settings);
  const tools = new Map(toolsOf(definition).map((tool) => [tool.name, tool]));
  return {
    name,
    definition,
    models: links.map((link) => link.model),
    tools,
    functionTools: toFunctionTools(tools.values()),
    profile: {
      budgetsMs: links[0]!.budgetsMs,
      ...turnLimitsFor(definition, settings),
      ...(links.length > 1 ? { links } : {}),
    },
    callLimits: callLimitsFor(definition, settings),
  };
}

function toolsOf({ name, tools = [], wakes = true }: AgentDefinition): ToolDefinition[] {
  return wakes ? [...tools, ...createWakeTools(name)] : tools;
}

/** The model at a place of the agent's chain; `undefined` = the worker's default. */
export function modelAt({ model, fallbackModels = [] }: AgentDefinition, link: number): AgentDefinition['model'] {
  return link === 0 ? model : fallbackModels[link - 1];
}

/** The models of an agent's chain, first choice first. */
export function chainOf({ model, fallbackModels = [] }: AgentDefinition, defaultModel: string): ModelReference[] {
  return [model === undefined ? defaultModel : model, ...fallbackModels];
}

function linksOf(definition: AgentDefinition, defaultModel: string, settings: LivenessSettings): ModelLink[] {
  return chainOf(definition, defaultModel).map((model) => ({
    model: typeof model === 'string' ? model : model.modelId,
    budgetsMs: budgetsFor(definition, model, settings),
  }));
}

const isName = (name: unknown) => typeof name === 'string' && NAME.test(name);

function agentProblems(agent: AgentDefinition, defaultModel: string, settings: LivenessSettings): string[] {
  const name = isName(agent.name) ? [] : [`agent name "${agent.name}": use 1 to 64 letters, digits, "-" or "_"`];
  const unknown = unknownAgentKeys(agent).map((problem) => `agent "${agent.name}": ${problem}`);
  return [
    ...name,
    ...unknown,
    ...chainProblems(agent, defaultModel, settings),
    ...limitProblems(agent),
    ...wakesProblem(agent),
    ...toolProblems(agent),
  ];
}

function wakesProblem({ name, wakes }: AgentDefinition): string[] {
  if (wakes === undefined || typeof wakes === 'boolean') return [];
  return [`agent "${name}": wakes must be true or false`];
}

/** A chain is written by hand; its tables travel with each session's state. */
const LONGEST_CHAIN = 10;

/** Budgets of a model are only looked at where it is one. */
function chainProblems(agent: AgentDefinition, defaultModel: string, settings: LivenessSettings): string[] {
  const { name, fallbackModels = [] } = agent;
  if (Array.isArray(fallbackModels) && fallbackModels.length < LONGEST_CHAIN && fallbackModels.every(isModel)) {
    const problems = chainOf(agent, defaultModel).flatMap((model) => budgetProblems(agent, model, settings));
    return [...new Set(problems)];
  }
  return [`agent "${name}": fallbackModels must be a list of at most ${LONGEST_CHAIN - 1} models`];
}

function isModel(model: unknown): boolean {
  if (typeof model === 'string') return model.trim() !== '';
  return typeof (model as { doStream?: unknown } | null)?.doStream === 'function';
}

function toolProblems(agent: AgentDefinition): string[] {
  const names = new Set<string>();
  return (agent.tools ?? []).flatMap((tool) => {
    const isSecond = names.has(tool.name);
    names.add(tool.name);
    return [
      ...(isName(tool.name) ? [] : [`tool name "${tool.name}": use 1 to 64 letters, digits, "-" or "_"`]),
      ...(isSecond ? [`two tools are called "${tool.name}"`] : []),
      ...unknownToolKeys(tool).map((problem) => `tool "${tool.name}": ${problem}`),
      ...builtInProblem(tool, agent),
      ...silenceProblem(tool),
      ...automationProblem(tool),
      ...inputProblem(tool),
      ...(typeof tool.run === 'function' ? [] : [`tool "${tool.name}": run is not a function`]),
    ].map((problem) => `agent "${agent.name}": ${problem}`);
  });
}

function builtInProblem({ name }: ToolDefinition, { wakes }: AgentDefinition): string[] {
  if (wakes === false || !isWakeTool(name)) return [];
  return [`tool "${name}" is built in: call yours something else, or give the agent "wakes: false"`];
}

function automationProblem({ name, onAutomation = 'run' }: ToolDefinition): string[] {
  if (onAutomation === 'run' || onAutomation === 'refuse') return [];
  return [`tool "${name}": onAutomation is ${JSON.stringify(onAutomation)}; allowed are "run" and "refuse"`];
}

function silenceProblem({ name, silenceMs }: ToolDefinition): string[] {
  if (silenceMs === undefined || isBudget(silenceMs)) return [];
  return [`tool "${name}": silenceMs is ${silenceMs}; allowed are ${BUDGET_RANGE.least} to ${BUDGET_RANGE.most}`];
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
