/**
 * An agent file for wakes: `work for N steps` calls a tool N times, one after the other; a prompt with the word `slowly` takes some
 * seconds; every answer repeats what the model was told, so that a test can read it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type {
  LanguageModelV3,
  LanguageModelV3Prompt,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../activities/agent.js';

const TOOL_MS = 100;
const SLOW_WORDS = 25;
const SLOW_WORD_MS = 150;
const USAGE: LanguageModelV3Usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

const model: LanguageModelV3 = {
  specificationVersion: 'v3',
  provider: 'wakes',
  modelId: 'wakes',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('the model of these tests only streams')),
  doStream: ({ prompt, abortSignal }) => {
    const parts = speak(prompt, abortSignal ? { signal: abortSignal } : {});
    const stream = new ReadableStream<LanguageModelV3StreamPart>({
      async pull(controller) {
        const { done, value } = await parts.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    });
    return Promise.resolve({ stream });
  },
};

async function* speak(
  prompt: LanguageModelV3Prompt,
  waiting: { signal?: AbortSignal },
): AsyncGenerator<LanguageModelV3StreamPart> {
  const { told, step } = readPrompt(prompt);
  yield { type: 'stream-start', warnings: [] };
  const steps = Number(/work for (\d+) steps/.exec(told)?.[1] ?? 0);
  if (step < steps) {
    yield { type: 'tool-call', toolCallId: 'c', toolName: 'step', input: JSON.stringify({ step }) };
    yield { type: 'finish', usage: USAGE, finishReason: { unified: 'tool-calls', raw: 'tool_calls' } };
    return;
  }
  yield { type: 'text-start', id: '0' };
  for (let word = 0; word < (told.includes('slowly') ? SLOW_WORDS : 0); word++) {
    await delay(SLOW_WORD_MS, undefined, waiting);
    yield { type: 'text-delta', id: '0', delta: '. ' };
  }
  yield { type: 'text-delta', id: '0', delta: `told: ${told}` };
  yield { type: 'text-end', id: '0' };
  yield { type: 'finish', usage: USAGE, finishReason: { unified: 'stop', raw: 'stop' } };
}

/** The newest message, and how many calls have been answered since. */
function readPrompt(prompt: LanguageModelV3Prompt): { told: string; step: number } {
  const place = prompt.findLastIndex(({ role }) => role === 'user');
  const message = prompt[place];
  const parts = message?.role === 'user' ? message.content : [];
  const told = parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
  return { told, step: prompt.slice(place).filter(({ role }) => role === 'tool').length };
}

export default defineAgent({
  name: 'wakes',
  model,
  tools: [
    defineTool({
      name: 'step',
      description: 'One step of the work.',
      input: z.object({ step: z.number() }),
      idempotent: true,
      async run({ step }, { signal }) {
        await delay(TOOL_MS, undefined, { signal });
        return `did step ${step}`;
      },
    }),
  ],
});
