import { createAgents, AgentError } from '../../activities/agents.js';
import type { AgentDefinition } from '../../activities/agent.js';
import { budgetsFor, callLimitsFor, type LivenessSettings, SLOW_FLOORS_MS } from '../../activities/budgets.js';
import { createDemoModel } from '../../activities/demo-model.js';
import { identifyModel } from '../../activities/models.js';
import { fits, isSlow, SLOW_MODELS } from '../../activities/slow-models.js';
import { LIVENESS } from '../../config/liveness-schema.js';
import { LIMITS } from '../../protocol/limits.js';
import { DEFAULT_PHASE_BUDGETS_MS, DEFAULT_PROFILE } from '../../protocol/liveness.js';

type Liveness = Parameters<typeof LIVENESS.parse>[0] & object;

const settings = (liveness: Liveness = {}, providers: LivenessSettings['providers'] = {}): LivenessSettings => ({
  liveness: LIVENESS.parse(liveness),
  providers,
});
const prefill = (ms: number) => ({ budgetsMs: { prefill: ms } });
const anAgent = (over: Partial<AgentDefinition> = {}): AgentDefinition => ({ name: 'ops', ...over });

function problemsOf(agent: AgentDefinition, given: LivenessSettings): string[] {
  try {
    createAgents([agent], 'demo', given);
  } catch (error) {
    if (error instanceof AgentError) return error.message.split('\n- ').slice(1);
    throw error;
  }
  return [];
}

describe('the most specific word counts', () => {
  const words: [string, Liveness, AgentDefinition][] = [
    ["the agent's file", {}, anAgent(prefill(61_000))],
    ['liveness.agents', { agents: { ops: prefill(62_000) } }, anAgent()],
    ['liveness.models', { models: { 'o3*': prefill(63_000) } }, anAgent()],
    ['the floor of a slow model', {}, anAgent()],
  ];
  const values = [61_000, 62_000, 63_000, SLOW_FLOORS_MS.prefill];

  test.each(words.map(([name], index) => [name, index] as const))('%s, where nothing stronger speaks', (_, index) => {
    const liveness = Object.assign(
      { defaults: prefill(64_000) },
      ...words.slice(index).map(([, said]) => said),
    ) as Liveness;
    const agent = Object.assign({}, ...words.slice(index).map(([, , said]) => said)) as AgentDefinition;
    expect(budgetsFor(agent, 'openai:o3-mini', settings(liveness)).prefill).toBe(values[index]);
  });

  test('liveness.defaults for a model that is not slow, else what is built in', () => {
    expect(budgetsFor(anAgent(), 'openai:gpt-4o', settings({ defaults: prefill(64_000) })).prefill).toBe(64_000);
    expect(budgetsFor(anAgent(), 'openai:gpt-4o', settings())).toEqual(DEFAULT_PHASE_BUDGETS_MS);
  });

  test('of each phase for itself', () => {
    const liveness = {
      agents: { ops: { budgetsMs: { connect: 70_000 } } },
      defaults: { budgetsMs: { setup: 80_000 } },
    };
    expect(budgetsFor(anAgent(prefill(61_000)), 'demo', settings(liveness))).toMatchObject({
      ...{ prefill: 61_000, connect: 70_000, setup: 80_000 },
      finish: DEFAULT_PHASE_BUDGETS_MS.finish,
    });
  });

  test('of several patterns that fit, the later', () => {
    const models = { 'openai:*': prefill(61_000), 'gpt-4*': prefill(62_000), 'gpt-3*': prefill(63_000) };
    expect(budgetsFor(anAgent(), 'openai:gpt-4o', settings({ models })).prefill).toBe(62_000);
  });

  test('also of limits: file, then liveness.agents, then liveness.defaults', () => {
    const given = settings({
      defaults: { stepsPerTurn: 5, resumesPerTurn: 5, redispatchesPerTurn: 5 },
      agents: { ops: { stepsPerTurn: 6, resumesPerTurn: 6 } },
    });
    const { profile } = createAgents([anAgent({ stepsPerTurn: 7 })], 'demo', given).get('ops')!;
    expect(profile).toEqual({ ...DEFAULT_PROFILE, stepsPerTurn: 7, resumesPerTurn: 6, redispatchesPerTurn: 5 });
  });

  test('the limits of a call have the same order, and the built-in cap', () => {
    expect(callLimitsFor(anAgent(), settings())).toEqual({
      outputCharsPerCall: LIMITS.outputCharsPerCall,
      maxOutputTokens: undefined,
    });
    const given = settings({
      defaults: { outputCharsPerCall: 5_000, maxOutputTokens: 50 },
      agents: { ops: { maxOutputTokens: 60 } },
    });
    expect(callLimitsFor(anAgent({ outputCharsPerCall: 7_000 }), given)).toEqual({
      outputCharsPerCall: 7_000,
      maxOutputTokens: 60,
    });
  });
});

describe('floors of slow models', () => {
  test('raise prefill, reasoning and thinking, and nothing else', () => {
    expect(budgetsFor(anAgent(), 'openai:gpt-5-mini', settings())).toEqual({
      ...DEFAULT_PHASE_BUDGETS_MS,
      ...SLOW_FLOORS_MS,
    });
  });

  test('leave a larger default as it is', () => {
    expect(budgetsFor(anAgent(), 'openai:o3', settings({ defaults: prefill(900_000) })).prefill).toBe(900_000);
  });

  test('give way to what is written for the agent or the model, larger or smaller', () => {
    for (const ms of [61_000, 3_600_000]) {
      expect(budgetsFor(anAgent(prefill(ms)), 'openai:o3', settings()).prefill).toBe(ms);
      expect(budgetsFor(anAgent(), 'openai:o3', settings({ models: { o3: prefill(ms) } })).prefill).toBe(ms);
    }
  });

  test('hold for the model that is asked, whichever the agent names', () => {
    const agent = anAgent({ model: 'openai:gpt-4o' });
    expect(budgetsFor(agent, 'http://127.0.0.1:8080/v1#m', settings()).prefill).toBe(SLOW_FLOORS_MS.prefill);
  });
});

describe('a model is slow', () => {
  const isSlowModel = (spec: string, more: string[] = [], providers = {}) =>
    isSlow(identifyModel(spec, providers), more);

  test.each([
    'openai:o1',
    'openai:o3-mini',
    'openai:o4-mini-2025-04-16',
    'openai:gpt-5.1-codex',
    'https://api.host.com/v1#deepseek-r1:70b',
    'https://api.host.com/v1#deepseek-reasoner',
    'https://api.host.com/v1#deepseek-ai/DeepSeek-R1',
    'https://api.host.com/v1#Qwen/QwQ-32B',
    'https://api.host.com/v1#kimi-k2-thinking',
    'https://api.host.com/v1#magistral-medium',
    'https://api.host.com/v1#grok-4-1-fast-reasoning',
  ])('by its name: %s', (spec) => expect(isSlowModel(spec)).toBe(true));

  test.each([
    'http://127.0.0.1:8080/v1#smollm2',
    'http://localhost:11434/v1#llama3',
    'http://[::1]:8080/v1#m',
    'http://10.1.2.3/v1#m',
    'http://172.31.0.1/v1#m',
    'http://192.168.1.7:1234/v1#m',
    'http://100.64.0.9/v1#m',
    'http://[fd12::1]/v1#m',
    'http://gpu-box:8000/v1#m',
    'http://gpu.local/v1#m',
    'https://host.com/ollama/v1#m',
    'https://vllm.host.com/v1#m',
    'https://host.com/v1#llama.cpp',
  ])('where it runs on a machine of one’s own: %s', (spec) => expect(isSlowModel(spec)).toBe(true));

  test('where the address of its provider is such a machine', () => {
    expect(isSlowModel('openai:m', [], { openaiBaseUrl: 'http://127.0.0.1:1/v1' })).toBe(true);
    expect(isSlowModel('anthropic:m', [], { anthropicBaseUrl: 'http://127.0.0.1:1' })).toBe(true);
    expect(isSlowModel('anthropic:m', [], { openaiBaseUrl: 'http://127.0.0.1:1/v1' })).toBe(false);
  });

  test('where the configuration says so', () => {
    expect(isSlowModel('openai:our-planner-2', ['our-planner*'])).toBe(true);
    expect(isSlowModel('openai:our-planner-2', ['planner*'])).toBe(false);
  });

  test.each([
    'demo',
    'openai:gpt-4o',
    'openai:gpt-4.1',
    'anthropic:claude-sonnet-4-5',
    'https://api.host.com/v1#llama-3.3-70b',
    'https://11.0.0.1/v1#m',
    'https://172.32.0.1/v1#m',
    'https://[2001:db8::1]/v1#m',
  ])('and not otherwise: %s', (spec) => expect(isSlowModel(spec)).toBe(false));

  test('for a reason that is given', () => {
    for (const { pattern, why } of SLOW_MODELS)
      expect({ pattern, why }).toEqual({ pattern, why: expect.stringMatching(/\w{4}/) });
  });
});

describe('a pattern', () => {
  const model = identifyModel('https://host/v1#Maker/Name-1.5:8b', {});

  test.each(['https://host/v1#*', 'maker/name*', 'NAME-1.5*', '*', '*8b'])(
    '%s means the whole, or its name',
    (pattern) => expect(fits(pattern, model)).toBe(true),
  );

  test.each(['name', 'name-1x5*', '1.5:8b', 'maker', 'host*'])('%s is not found inside', (pattern) =>
    expect(fits(pattern, model)).toBe(false),
  );

  test('knows a model object by provider and name', () => {
    expect(identifyModel(createDemoModel(), {})).toEqual({ spec: 'demo:demo', name: 'demo', url: null });
  });
});

describe('what cannot be held is refused', () => {
  test('naming where the budget and the gap are written', () => {
    const given = settings({
      agents: { ops: { budgetsMs: { streaming: 120_000 } } },
      models: { demo: prefill(90_000) },
    });
    expect(problemsOf(anAgent(), given)).toEqual([
      'agent "ops": liveness.models.demo.budgetsMs.prefill (90000) is below liveness.agents.ops.budgetsMs.streaming (120000) and could not be held',
    ]);
  });

  test('but a wider gap widens defaults, those of the configuration too', () => {
    const given = settings({ agents: { ops: { budgetsMs: { streaming: 120_000 } } }, defaults: prefill(90_000) });
    expect(problemsOf(anAgent(), given)).toEqual([]);
    expect(budgetsFor(anAgent(), 'demo', given)).toMatchObject({
      setup: 120_000,
      prefill: 120_000,
      reasoning: 180_000,
    });
  });

  test('a narrower gap lets smaller budgets in', () => {
    const agent = anAgent({ budgetsMs: { streaming: 2_000, prefill: 3_000 } });
    expect(problemsOf(agent, settings())).toEqual([]);
  });
});
