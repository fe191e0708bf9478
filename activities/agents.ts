import type { LanguageModelV3FunctionTool } from '@ai-sdk/provider';
import { BUDGET_RANGE } from '../config/liveness-schema.js';
import type { Profile } from '../protocol/liveness.js';
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
import { toFunctionTools } from './prompt.js';

/** An agent ready to run: checked, with every default filled in. */
export interface Agent {
  name: string;
  definition: AgentDefinition;
  /** What the provider calls the model. */
  model: string;
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
  const { name, model = defaultModel } = definition;
  const tools = new Map((definition.tools ?? []).map((tool) => [tool.name, tool]));
  return {
    name,
    definition,
    model: typeof model === 'string' ? model : model.modelId,
    tools,
    functionTools: toFunctionTools(tools.values()),
    profile: { budgetsMs: budgetsFor(definition, model, settings), ...turnLimitsFor(definition, settings) },
    callLimits: callLimitsFor(definition, settings),
  };
}

const isName = (name: unknown) => typeof name === 'string' && NAME.test(name);

function agentProblems(agent: AgentDefinition, defaultModel: string, settings: LivenessSettings): string[] {
  const name = isName(agent.name) ? [] : [`agent name "${agent.name}": use 1 to 64 letters, digits, "-" or "_"`];
  return [
    ...name,
    ...budgetProblems(agent, agent.model ?? defaultModel, settings),
    ...limitProblems(agent),
    ...toolProblems(agent),
  ];
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
