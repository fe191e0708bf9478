import { z } from 'zod';
import type { AgentDefinition, ToolDefinition } from '../../activities/agent.js';
import { AgentError, createAgents } from '../../activities/agents.js';
import { createDemoModel } from '../../activities/demo-model.js';
import { DEFAULT_PHASE_BUDGETS_MS, DEFAULT_PROFILE, PHASES } from '../../protocol/liveness.js';
import { aTool } from '../support/activity-world.js';

const anAgent = (over: Partial<AgentDefinition> = {}): AgentDefinition => ({ name: 'ops', ...over });
const profileOf = (over: Partial<AgentDefinition>) => createAgents([anAgent(over)], 'demo').get('ops')!.profile;
const withTool = (over: Partial<ToolDefinition>) => anAgent({ tools: [aTool({ input: z.object({}), ...over })] });

/** Everything that is wrong with the agents. */
function problemsOf(...agents: AgentDefinition[]): string[] {
  try {
    createAgents(agents, 'demo');
  } catch (error) {
    if (error instanceof AgentError) return error.message.split('\n- ').slice(1);
    throw error;
  }
  return [];
}

test('an agent without wishes has the default profile', () => {
  expect(profileOf({})).toEqual(DEFAULT_PROFILE);
});

test('what an agent says replaces the default, and nothing else does', () => {
  expect(profileOf({ budgetsMs: { prefill: 600_000 }, resumesPerTurn: 0, stepsPerTurn: 7 })).toEqual({
    ...DEFAULT_PROFILE,
    budgetsMs: { ...DEFAULT_PHASE_BUDGETS_MS, prefill: 600_000 },
    resumesPerTurn: 0,
    stepsPerTurn: 7,
  });
});

test('a wish that is misspelt is refused, for it would silently not hold', () => {
  const misspelt = { budgetMs: { prefill: 600_000 }, whatever: 1 } as object;
  const problems = problemsOf(anAgent(misspelt), { ...withTool({ approval: 'always' } as object), name: 'other' });
  expect(problems).toHaveLength(3);
  expect(problems[0]).toBe('agent "ops": "budgetMs" is not known; did you mean "budgetsMs"?');
  expect(problems[1]).toMatch(/^agent "ops": "whatever" is not known; there are: name, model, .*outputCharsPerCall/);
  expect(problems[2]).toMatch(/^agent "other": tool "\w+": "approval" is not known; there are: name, description, /);
});

test.each(PHASES)('a long budget for %s is honoured', (phase) => {
  const day = 24 * 60 * 60_000;
  expect(profileOf({ budgetsMs: { [phase]: day } }).budgetsMs[phase]).toBe(day);
});

test('a wider stream gap widens the defaults that could not be held below it', () => {
  expect(profileOf({ budgetsMs: { streaming: 120_000 } }).budgetsMs).toEqual({
    ...DEFAULT_PHASE_BUDGETS_MS,
    ...{ setup: 120_000, connect: 120_000, streaming: 120_000, finish: 120_000 },
  });
});

test.each([
  0,
  -1,
  999,
  1_000.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  24 * 60 * 60_000 + 1,
  '60s' as unknown as number,
])('a budget of %p is refused with the range that is allowed', (ms) => {
  const problems = problemsOf(anAgent({ budgetsMs: { prefill: ms } }));
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(new RegExp(`"ops": budgetsMs.prefill is ${ms}; allowed are 1000 to 86400000 ms`));
});

test('a stream gap of 0 is refused once', () => {
  expect(problemsOf(anAgent({ budgetsMs: { streaming: 0 } }))).toEqual([
    expect.stringMatching(/budgetsMs.streaming is 0/),
  ]);
});

test('a budget below the stream gap is refused, for it could not be held', () => {
  const problems = problemsOf(anAgent({ budgetsMs: { prefill: 30_000 } }));
  expect(problems).toEqual([expect.stringMatching(/prefill \(30000\) is below budgetsMs.streaming \(60000\)/)]);
});

test('a budget for a phase that does not exist is refused with those that do', () => {
  const problems = problemsOf(anAgent({ budgetsMs: { prefil: 30_000 } as object }));
  expect(problems).toEqual([expect.stringMatching(/budgetsMs.prefil is no phase; there are: setup, connect, prefill/)]);
});

test.each([
  ['resumesPerTurn', -1, '0 to 100'],
  ['resumesPerTurn', 1.5, '0 to 100'],
  ['resumesPerTurn', 101, '0 to 100'],
  ['stepsPerTurn', 0, '1 to 10000'],
  ['stepsPerTurn', 10_001, '1 to 10000'],
  ['scheduleToStartMs', 999, '1000 to 86400000'],
  ['capacityWaitPerTurnMs', 0, '1000 to 86400000'],
  ['maxOutputTokens', 0, '1 to 10000000'],
  ['maxOutputTokens', Number.NaN, '1 to 10000000'],
] as const)('%s of %p is refused with the range that is allowed', (knob, value, range) => {
  expect(problemsOf(anAgent({ [knob]: value }))).toEqual([`agent "ops": ${knob} is ${value}; allowed are ${range}`]);
});

test.each(['', 'a b', '-a', 'ä', 'x'.repeat(65), undefined as unknown as string])(
  'an agent called %p is refused',
  (name) => {
    expect(problemsOf(anAgent({ name }))).toEqual([expect.stringMatching(/agent name ".*": use 1 to 64 letters/s)]);
  },
);

test.each(['', 'a b', 'a.b', 'x'.repeat(65)])('a tool called %p is refused', (name) => {
  expect(problemsOf(withTool({ name }))).toEqual([expect.stringMatching(/tool name ".*": use 1 to 64 letters/s)]);
});

test.each([0, 999, 1_500.5, Number.NaN])('a tool that may be silent for %p ms is refused', (silenceMs) => {
  expect(problemsOf(withTool({ silenceMs }))).toEqual([
    expect.stringMatching(/silenceMs is .*; allowed are 1000 to 86400000/),
  ]);
});

test('a tool whose input is no object is refused, for no provider takes it', () => {
  expect(problemsOf(withTool({ input: z.string() }))).toEqual([expect.stringMatching(/input must be an object/)]);
});

test('a tool whose input no JSON schema can describe is refused', () => {
  expect(problemsOf(withTool({ input: z.object({ at: z.date() }) }))).toEqual([
    expect.stringMatching(/input cannot be told to a model: .*[Dd]ate/),
  ]);
});

test('a tool that cannot be run is refused', () => {
  expect(problemsOf(withTool({ run: undefined as unknown as ToolDefinition['run'] }))).toEqual([
    expect.stringMatching(/run is not a function/),
  ]);
});

test('names that are taken are refused', () => {
  const tool = aTool({ input: z.object({}) });
  expect(problemsOf(anAgent({ tools: [tool, tool] }), anAgent())).toEqual([
    'agent "ops": two tools are called "clock"',
    'two agents are called "ops"',
  ]);
});

test('every problem is named at once', () => {
  const bad = anAgent({ name: 'a b', stepsPerTurn: 0, budgetsMs: { connect: 0 } });
  expect(problemsOf(bad, anAgent(), anAgent())).toHaveLength(4);
});

test('a model is shown by what it is called', () => {
  const agents = createAgents(
    [
      anAgent({ name: 'a' }),
      anAgent({ name: 'b', model: 'openai:gpt-5' }),
      anAgent({ name: 'c', model: createDemoModel() }),
    ],
    'the default',
  );
  expect([...agents.values()].map((agent) => agent.models)).toEqual([['the default'], ['openai:gpt-5'], ['demo']]);
});

describe('the tools for wakes', () => {
  const namesOf = (over: Partial<AgentDefinition>) => [
    ...createAgents([anAgent(over)], 'demo')
      .get('ops')!
      .tools.keys(),
  ];

  test("are every agent's, beside its own, unless it is to be without them", () => {
    const tools = [aTool({ input: z.object({}) })];
    expect(namesOf({ tools })).toEqual(['clock', 'schedule_wake', 'list_wakes', 'cancel_wake']);
    expect(namesOf({ tools, wakes: false })).toEqual(['clock']);
  });

  test('are told to the model as objects', () => {
    const { functionTools } = createAgents([anAgent()], 'demo').get('ops')!;
    expect(functionTools.map(({ inputSchema }) => inputSchema.type)).toEqual(['object', 'object', 'object']);
  });

  test('keep their names, unless the agent is without them', () => {
    const tools = [aTool({ name: 'cancel_wake', input: z.object({}) })];
    expect(problemsOf(anAgent({ tools }))).toEqual([expect.stringContaining('tool "cancel_wake" is built in')]);
    expect(problemsOf(anAgent({ tools, wakes: false }))).toEqual([]);
  });

  test.each([
    ['wakes', { wakes: 'no' as unknown as boolean }, 'wakes must be true or false'],
    [
      'onAutomation',
      { tools: [aTool({ input: z.object({}), onAutomation: 'ask' as 'run' })] },
      'onAutomation is "ask"; allowed are "run" and "refuse"',
    ],
  ])('what %s cannot be is a problem', (_, over, problem) => {
    expect(problemsOf(anAgent(over))).toEqual([expect.stringContaining(problem)]);
  });
});
