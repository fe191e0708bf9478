/**
 * An agent file for workers that are going to die: its turn streams, runs a tool with an effect that must not happen twice, and streams
 * again. What it did, and in which process, it appends to the file that VIGIL_TEST_TRACE names.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { LanguageModelV3, LanguageModelV3StreamPart, LanguageModelV3Usage } from '@ai-sdk/provider';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../activities/agent.js';

const CONNECT_MS = 150;
const PREFILL_MS = 250;
const WORD_MS = 50;
const TOOL_MS = 800;
const FIRST = 'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen';
const SECOND = 'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron';
const USAGE: LanguageModelV3Usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

function trace(what: string, id: string): void {
  const path = process.env['VIGIL_TEST_TRACE'];
  if (path) appendFileSync(path, `${JSON.stringify({ what, id, pid: process.pid, atMs: Date.now() })}\n`);
}

const model: LanguageModelV3 = {
  specificationVersion: 'v3',
  provider: 'crash',
  modelId: 'crash',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('the crash model only streams')),
  async doStream({ prompt, abortSignal }) {
    const isFirst = prompt.at(-1)?.role === 'user';
    trace('call', isFirst ? 'first' : 'second');
    const waiting = abortSignal ? { signal: abortSignal } : {};
    await delay(CONNECT_MS, undefined, waiting);
    const parts = speak(isFirst, waiting);
    return {
      stream: new ReadableStream<LanguageModelV3StreamPart>({
        async pull(controller) {
          const { done, value } = await parts.next();
          if (done) controller.close();
          else controller.enqueue(value);
        },
      }),
    };
  },
};

async function* speak(isFirst: boolean, waiting: { signal?: AbortSignal }): AsyncGenerator<LanguageModelV3StreamPart> {
  yield { type: 'stream-start', warnings: [] };
  await delay(PREFILL_MS, undefined, waiting);
  yield { type: 'text-start', id: '0' };
  for (const delta of (isFirst ? FIRST : SECOND).match(/\S+\s*/g) ?? []) {
    await delay(WORD_MS, undefined, waiting);
    yield { type: 'text-delta', id: '0', delta };
  }
  yield { type: 'text-end', id: '0' };
  if (isFirst) yield { type: 'tool-call', toolCallId: 'c', toolName: 'effect', input: '{}' };
  const finishReason = isFirst
    ? ({ unified: 'tool-calls', raw: 'tool_calls' } as const)
    : ({ unified: 'stop', raw: 'stop' } as const);
  yield { type: 'finish', usage: USAGE, finishReason };
}

export default defineAgent({
  name: 'crash',
  model,
  tools: [
    defineTool({
      name: 'effect',
      description: 'Does what must not be done twice.',
      input: z.object({}),
      async run(_, { toolCallId, signal }) {
        trace('effect', toolCallId);
        await delay(TOOL_MS, undefined, { signal });
        return 'done';
      },
    }),
  ],
});
