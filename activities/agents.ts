import { DEFAULT_PHASE_BUDGETS_MS, DEFAULT_PROFILE, type PhaseBudgets, type Profile } from '../protocol/liveness.js';
import type { AgentDefinition, ToolDefinition } from './agent.js';

/** An agent ready to run: checked, with every default filled in. */
export interface Agent {
  name: string;
  definition: AgentDefinition;
  /** What the provider calls the model. */
  model: string;
  tools: ReadonlyMap<string, ToolDefinition>;
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
  for (const definition of definitions) {
    problems.push(...agentProblems(definition));
    if (agents.has(definition.name)) problems.push(`two agents are called "${definition.name}"`);
    if (problems.length === 0) agents.set(definition.name, createAgent(definition, modelName));
  }
  if (problems.length > 0) throw new AgentError(`the agents cannot be used:\n- ${problems.join('\n- ')}`);
  return agents;
}

function createAgent(definition: AgentDefinition, modelName: string): Agent {
  const { name, model, resumesPerTurn, stepsPerTurn } = definition;
  const profile: Profile = {
    ...DEFAULT_PROFILE,
    budgetsMs: effectiveBudgets(definition),
    ...(resumesPerTurn === undefined ? {} : { resumesPerTurn }),
    ...(stepsPerTurn === undefined ? {} : { stepsPerTurn }),
  };
  const tools = new Map((definition.tools ?? []).map((tool) => [tool.name, tool]));
  return { name, definition, model: typeof model === 'string' ? model : (model?.modelId ?? modelName), tools, profile };
}

function effectiveBudgets({ budgetsMs }: AgentDefinition): PhaseBudgets {
  return { ...DEFAULT_PHASE_BUDGETS_MS, ...budgetsMs };
}

function agentProblems(agent: AgentDefinition): string[] {
  const problems: string[] = [];
  if (!NAME.test(agent.name)) problems.push(`agent name "${agent.name}": use 1 to 64 letters, digits, "-" or "_"`);
  const budgets = effectiveBudgets(agent);
  for (const [phase, ms] of Object.entries(budgets)) {
    if (!(Number.isInteger(ms) && ms >= SHORTEST_BUDGET_MS && ms <= LONGEST_BUDGET_MS)) {
      problems.push(
        `agent "${agent.name}": budgetsMs.${phase} is ${ms}; allowed are ${SHORTEST_BUDGET_MS} to ${LONGEST_BUDGET_MS} ms (there is no "off": a silent call must end)`,
      );
    } else if (ms < budgets.streaming) {
      problems.push(`agent "${agent.name}": budgetsMs.${phase} (${ms}) is below budgetsMs.streaming (${budgets.streaming}) and could not be held`);
    }
  }
  problems.push(...countProblem(agent, 'resumesPerTurn', 0, 100), ...countProblem(agent, 'stepsPerTurn', 1, 10_000));
  return [...problems, ...toolProblems(agent)];
}

function countProblem(agent: AgentDefinition, knob: 'resumesPerTurn' | 'stepsPerTurn', least: number, most: number): string[] {
  const value = agent[knob];
  if (value === undefined || (Number.isInteger(value) && value >= least && value <= most)) return [];
  return [`agent "${agent.name}": ${knob} is ${value}; allowed are ${least} to ${most}`];
}

function toolProblems(agent: AgentDefinition): string[] {
  const seen = new Set<string>();
  return (agent.tools ?? []).flatMap((tool) => {
    const problems: string[] = [];
    if (!NAME.test(tool.name)) problems.push(`agent "${agent.name}": tool name "${tool.name}": use 1 to 64 letters, digits, "-" or "_"`);
    if (seen.has(tool.name)) problems.push(`agent "${agent.name}": two tools are called "${tool.name}"`);
    if (tool.silenceMs !== undefined && !(tool.silenceMs >= SHORTEST_BUDGET_MS && tool.silenceMs <= LONGEST_BUDGET_MS)) {
      problems.push(`agent "${agent.name}": tool "${tool.name}": silenceMs is ${tool.silenceMs}; allowed are ${SHORTEST_BUDGET_MS} to ${LONGEST_BUDGET_MS}`);
    }
    seen.add(tool.name);
    return problems;
  });
}
