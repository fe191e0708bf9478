import { createDemoModel } from '../../activities/demo-model.js';
import type { AgentDefinition } from '../../activities/agent.js';
import { loadConfig } from '../../config/load-config.js';
import { checkModels } from '../../worker/check-models.js';
import { StartError } from '../../worker/start-error.js';

function problemsOf(agents: AgentDefinition[], environment: Record<string, string> = {}): string[] {
  try {
    checkModels(agents, loadConfig({ environment, cwd: '/' }));
  } catch (error) {
    if (error instanceof StartError) return error.message.split('\n- ').slice(1);
    throw error;
  }
  return [];
}

test('every model that cannot be used is named at once, with the agents that need it', () => {
  const agents: AgentDefinition[] = [
    { name: 'plain' },
    { name: 'a', model: 'openai:gpt-5' },
    { name: 'b', model: 'gpt' },
    { name: 'c', model: 'openai:gpt-5' },
    { name: 'd', model: 'demo' },
    { name: 'e', model: createDemoModel() },
  ];
  expect(problemsOf(agents)).toEqual([
    expect.stringMatching(/^agent "a", agent "c": the model openai:gpt-5 needs a key: set OPENAI_API_KEY/),
    expect.stringMatching(/^agent "b": "gpt" is not a model/),
  ]);
});

test('the model of agents that name none is checked even where every agent names one', () => {
  expect(problemsOf([{ name: 'a', model: 'demo' }], { VIGIL_MODEL: 'anthropic:c' })).toEqual([
    expect.stringMatching(/^the model of agents that name none: .* set ANTHROPIC_API_KEY/),
  ]);
});

test('with its key a model is fine', () => {
  expect(problemsOf([{ name: 'a', model: 'openai:gpt-5' }], { OPENAI_API_KEY: 'key' })).toEqual([]);
});

test.each([5, null, {}])('a model that is %p is refused', (model) => {
  const agent = { name: 'a', model } as unknown as AgentDefinition;
  expect(problemsOf([agent])).toEqual(['agent "a": its model is neither a specification nor a model object']);
});
