/**
 * An agent file: its model makes the tool call that a message writes as JSON, and then says what the tool answered. The first attempt
 * of a `schedule_wake` with the key `slow` does not come to its end, as if its worker had been lost after the session had answered.
 */
import { Context } from '@temporalio/activity';
import type { LanguageModelV3, LanguageModelV3Prompt, LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { setTimeout as delay } from 'node:timers/promises';
import { defineAgent, type ToolDefinition } from '../../activities/agent.js';
import { createWakeTools } from '../../activities/wake-tools.js';
import { aCall, aFinish, aModel, aText, streamOf } from './activity-models.js';

const model: LanguageModelV3 = aModel(({ prompt }) => {
  const parts = answerTo(prompt);
  return Promise.resolve(streamOf([...parts, aFinish(parts)]));
});

function answerTo(prompt: LanguageModelV3Prompt): LanguageModelV3StreamPart[] {
  const last = prompt.at(-1)!;
  if (last.role === 'tool') return aText(JSON.stringify(last.content));
  const part = last.role === 'user' ? last.content.at(-1) : undefined;
  const { name, input } = JSON.parse(part?.type === 'text' ? part.text : '{}') as { name: string; input: object };
  return [aCall(name, JSON.stringify(input))];
}

function slowAtFirst(tool: ToolDefinition): ToolDefinition {
  return {
    ...tool,
    async run(input: { key?: string }, context) {
      const answer: unknown = await tool.run(input, context);
      const isFirst = Context.current().info.attempt === 1;
      if (isFirst && input.key === 'slow') await delay(60_000, undefined, { signal: context.signal });
      return answer;
    },
  };
}

export default defineAgent({ name: 'waker', model, wakes: false, tools: createWakeTools('waker').map(slowAtFirst) });
