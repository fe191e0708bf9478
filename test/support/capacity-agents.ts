/**
 * Agents for tests and histories of busy providers, chains of models and workers without a free slot. The address of their provider is
 * VIGIL_TEST_PROVIDER.
 */
import type { LanguageModelV3, LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { defineAgent } from '../../activities/agent.js';
import { demoAgent } from '../../activities/demo-agent.js';

const PROVIDER = process.env['VIGIL_TEST_PROVIDER'] ?? 'http://127.0.0.1:9';
const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const HOG_SECONDS = 4;

/** To "both" it calls a tool twice at once, which takes its time; then it says what they told it. To anything else: "pong". */
const twoTools: LanguageModelV3 = {
  specificationVersion: 'v3',
  provider: 'test',
  modelId: 'two-tools',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('only streams are asked for')),
  doStream: ({ prompt }) => {
    const last = prompt.at(-1);
    const asked = JSON.stringify(last);
    const parts =
      last?.role !== 'tool' && asked.includes('both') ? both() : says(last?.role === 'tool' ? asked : 'pong');
    return Promise.resolve({ stream: streamOf(parts) });
  },
};

function both(): LanguageModelV3StreamPart[] {
  return [
    { type: 'tool-call', toolCallId: 'c1', toolName: 'wait', input: `{"seconds":${HOG_SECONDS}}` },
    { type: 'tool-call', toolCallId: 'c2', toolName: 'wait', input: `{"seconds":${HOG_SECONDS}}` },
    { type: 'finish', usage: USAGE, finishReason: { unified: 'tool-calls', raw: 'tool_calls' } },
  ];
}

function says(text: string): LanguageModelV3StreamPart[] {
  return [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: text },
    { type: 'text-end', id: '0' },
    { type: 'finish', usage: USAGE, finishReason: { unified: 'stop', raw: 'stop' } },
  ];
}

function streamOf(parts: LanguageModelV3StreamPart[]): ReadableStream<LanguageModelV3StreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

const tools = demoAgent.tools!;
const narrow = { scheduleToStartMs: 1_000, tools };

export default [
  defineAgent({ name: 'patient', ...narrow, capacityWaitPerTurnMs: 60_000, model: twoTools }),
  defineAgent({ name: 'impatient', ...narrow, capacityWaitPerTurnMs: 2_000, model: twoTools }),
  defineAgent({ name: 'gated', model: `${PROVIDER}/v1#shared` }),
  defineAgent({ name: 'chained', model: `${PROVIDER}/v1#big`, fallbackModels: ['demo'] }),
];
