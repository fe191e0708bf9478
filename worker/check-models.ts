import type { LanguageModelV3 } from '@ai-sdk/provider';
import type { AgentDefinition } from '../activities/agent.js';
import { chainOf } from '../activities/agents.js';
import { messageOf } from '../activities/classify-error.js';
import { createModel } from '../activities/models.js';
import type { Config } from '../config/load-config.js';
import { StartError } from './start-error.js';

/**
 * A missing key is better said at the start than in the first turn. Every problem at once: of the model that agents use which name
 * none, and of each agent's own.
 * @throws StartError
 */
export function checkModels(
  definitions: readonly AgentDefinition[],
  { model: defaultModel, providers }: ModelConfig,
): void {
  const users = new Map<unknown, string[]>([[defaultModel, []]]);
  for (const definition of definitions) {
    for (const model of chainOf(definition, defaultModel)) {
      users.set(model, [...(users.get(model) ?? []), definition.name]);
    }
  }
  const problems = [...users].flatMap(([model, names]) => {
    const problem = modelProblem(model, providers);
    const whose =
      model === defaultModel ? ['the model of agents that name none'] : names.map((name) => `agent "${name}"`);
    return problem === null ? [] : [`${whose.join(', ')}: ${problem}`];
  });
  if (problems.length > 0) throw new StartError(`models cannot be used:\n- ${problems.join('\n- ')}`);
}

type ModelConfig = Pick<Config, 'model' | 'providers'>;

function modelProblem(model: unknown, providers: Config['providers']): string | null {
  if (typeof model !== 'string') {
    const isModel = typeof (model as Partial<LanguageModelV3> | null)?.doStream === 'function';
    return isModel ? null : 'its model is neither a specification nor a model object';
  }
  try {
    createModel(model, providers);
    return null;
  } catch (error) {
    return messageOf(error);
  }
}
