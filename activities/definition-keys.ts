import { nearestOf } from '../config/setting-problems.js';
import type { AgentDefinition, ToolDefinition } from './agent.js';

/** Complete by its type: a field that is added to agents must be named here. */
const AGENT_KEYS: Readonly<Record<keyof AgentDefinition, true>> = {
  ...{ name: true, model: true, fallbackModels: true, instructions: true, tools: true, budgetsMs: true },
  ...{ resumesPerTurn: true, stepsPerTurn: true, providerWaitPerTurnMs: true, redispatchesPerTurn: true },
  ...{ scheduleToStartMs: true, capacityWaitPerTurnMs: true, maxOutputTokens: true, outputCharsPerCall: true },
  ...{ channelWaitMs: true, wakes: true },
};

const TOOL_KEYS: Readonly<Record<keyof ToolDefinition, true>> = {
  ...{ name: true, description: true, input: true, idempotent: true, silenceMs: true, run: true, onAutomation: true },
};

/** Agent files are loaded without a type check, and a wish that is misspelt would silently not hold. */
export const unknownAgentKeys = (agent: AgentDefinition): string[] => unknownKeys(agent, Object.keys(AGENT_KEYS));

export const unknownToolKeys = (tool: ToolDefinition): string[] => unknownKeys(tool, Object.keys(TOOL_KEYS));

function unknownKeys(definition: object, known: readonly string[]): string[] {
  return Object.keys(definition)
    .filter((key) => !known.includes(key))
    .map((key) => `"${key}" is not known; ${adviceOn(key, known)}`);
}

function adviceOn(key: string, known: readonly string[]): string {
  const near = nearestOf(key, known);
  return near === null ? `there are: ${known.join(', ')}` : `did you mean "${near}"?`;
}
