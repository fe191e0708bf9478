import { existsSync } from 'node:fs';
import { createJiti } from 'jiti';
import type { AgentDefinition } from '../activities/agent.js';
import { AgentError } from '../activities/agents.js';
import { demoAgent } from '../activities/demo-agent.js';

/**
 * Agents of the given files (TypeScript or JavaScript; the default export is an agent or a list of them), and the demo agent.
 * @throws AgentError that names the file and what is wrong with it.
 */
export async function loadAgents(files: string[]): Promise<AgentDefinition[]> {
  const loaded = (await Promise.all(files.map(loadFile))).flat();
  return loaded.some((agent) => agent.name === demoAgent.name) ? loaded : [...loaded, demoAgent];
}

async function loadFile(file: string): Promise<AgentDefinition[]> {
  if (!existsSync(file)) throw new AgentError(`the agent file ${file} does not exist; check --agent or VIGIL_AGENTS`);
  const exported = await importDefault(file);
  const agents: unknown[] = Array.isArray(exported) ? exported : [exported];
  if (agents.length === 0 || !agents.every(isAgent)) {
    throw new AgentError(
      `the agent file ${file} must have a default export made with defineAgent (or a list of them); each agent needs a "name", and each tool "name", "description", "input" (zod) and "run"`,
    );
  }
  return agents;
}

async function importDefault(file: string): Promise<unknown> {
  try {
    return await createJiti(import.meta.url).import(file, { default: true });
  } catch (error) {
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new AgentError(`the agent file ${file} cannot be loaded:\n${reason}`);
  }
}

function isAgent(value: unknown): value is AgentDefinition {
  if (typeof value !== 'object' || value === null) return false;
  const { name, tools } = value as Partial<AgentDefinition>;
  return typeof name === 'string' && (tools === undefined || (Array.isArray(tools) && tools.every(isTool)));
}

function isTool(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { name, description, input, run } = value as Record<'name' | 'description' | 'input' | 'run', unknown>;
  const isSchema = typeof input === 'object' && input !== null && 'safeParse' in input;
  return typeof name === 'string' && typeof description === 'string' && isSchema && typeof run === 'function';
}
