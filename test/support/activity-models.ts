import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamPart } from '@ai-sdk/provider';

const USAGE = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 3, text: 3, reasoning: 0 },
};

type DoStream = (options: LanguageModelV3CallOptions) => Promise<ReadableStream<LanguageModelV3StreamPart>>;

/** A model object of a user's own, which knows nothing of our HTTP client. */
export function aModel(doStream: DoStream): LanguageModelV3 {
  return {
    specificationVersion: 'v3',
    provider: 'test',
    modelId: 'test-model',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('only streams are asked for')),
    doStream: async (options) => ({ stream: await doStream(options) }),
  };
}

export function streamOf(parts: Iterable<LanguageModelV3StreamPart>): ReadableStream<LanguageModelV3StreamPart> {
  const iterator = parts[Symbol.iterator]();
  return new ReadableStream({
    pull(controller) {
      const { done, value } = iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

/** Says the parts, and finishes as they want it. */
export function aModelThatSays(...parts: LanguageModelV3StreamPart[]): LanguageModelV3 {
  return aModel(() =>
    Promise.resolve(streamOf([...parts, ...(parts.at(-1)?.type === 'finish' ? [] : [aFinish(parts)])])),
  );
}

export function aText(text: string, id = '0'): LanguageModelV3StreamPart[] {
  return [
    { type: 'text-start', id },
    { type: 'text-delta', id, delta: text },
    { type: 'text-end', id },
  ];
}

export function aCall(toolName: string, input: string, toolCallId = 'call_1'): LanguageModelV3StreamPart {
  return { type: 'tool-call', toolCallId, toolName, input };
}

export function aFinish(after: LanguageModelV3StreamPart[] = []): LanguageModelV3StreamPart {
  const hasCalls = after.some((part) => part.type === 'tool-call');
  const finishReason = hasCalls
    ? ({ unified: 'tool-calls', raw: 'tool_calls' } as const)
    : ({ unified: 'stop', raw: 'stop' } as const);
  return { type: 'finish', finishReason, usage: USAGE };
}
