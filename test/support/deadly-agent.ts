/** An agent file whose model and tools kill the worker that runs them when they are told to, and answer slowly otherwise. */
import { setTimeout as delay } from 'node:timers/promises';
import type { LanguageModelV3, LanguageModelV3Prompt, LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../activities/agent.js';
import { aCall, aFinish, aText } from './activity-models.js';

const SLOW_MS = 4_000;

const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('killed');
};

async function* answer(prompt: LanguageModelV3Prompt): AsyncGenerator<LanguageModelV3StreamPart> {
  const last = prompt.at(-1)!;
  const said = JSON.stringify(last.content);
  if (last.role === 'user' && said.includes('die at once')) die();
  const wanted = /die in (\w+)/.exec(said)?.[1];
  if (last.role === 'user' && wanted) {
    const call = aCall(wanted, '{}');
    yield* [call, aFinish([call])];
    return;
  }
  for (let waitedMs = 0; said.includes('slowly') && waitedMs < SLOW_MS; waitedMs += 200) {
    yield* aText('.', String(waitedMs));
    await delay(200);
  }
  yield* [...aText('done', 'last'), aFinish()];
}

const model: LanguageModelV3 = {
  specificationVersion: 'v3',
  provider: 'deadly',
  modelId: 'deadly',
  supportedUrls: {},
  doGenerate: () => Promise.reject(new Error('only streams are asked for')),
  doStream({ prompt }) {
    const parts = answer(prompt);
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

const tool = (name: string, idempotent: boolean) =>
  defineTool({ name, description: 'Kills its worker.', input: z.object({}), idempotent, run: die });

export default defineAgent({ name: 'deadly', model, tools: [tool('repeatable', true), tool('once', false)] });
