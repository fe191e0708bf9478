import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3FinishReason,
  LanguageModelV3Prompt,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider';
import { APICallError, UnsupportedFunctionalityError } from '@ai-sdk/provider';
import { setTimeout as delay } from 'node:timers/promises';
import { demoReply, type DemoReply } from './demo-script.js';

const ADDRESS = 'demo://built-in';

/** Faults that were asked for "once" and have happened, so that the next try of the same request succeeds. */
const happened = new Set<string>();

/**
 * The model of the embedded defaults: a script, no AI, and it says so. Good for trying out streaming, tools and faults without a key.
 */
export function createDemoModel(): LanguageModelV3 {
  return {
    specificationVersion: 'v3',
    provider: 'demo',
    modelId: 'demo',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('the demo model only streams')),
    async doStream(options) {
      refuseBinaries(options.prompt);
      const reply = withFaultOnce(demoReply(options.prompt, toolNames(options)), options.prompt);
      if (reply.fault?.kind === 'status') throw statusError(reply.fault.status);
      if (reply.fault?.kind === 'silent') await delay(2 ** 31 - 1, undefined, abortable(options));
      return { stream: streamOf(speak(reply, options)) };
    },
  };
}

function toolNames(options: LanguageModelV3CallOptions): string[] {
  return (options.tools ?? []).map((tool) => tool.name);
}

const abortable = ({ abortSignal }: LanguageModelV3CallOptions) => (abortSignal ? { signal: abortSignal } : {});

function refuseBinaries(prompt: LanguageModelV3Prompt): void {
  for (const message of prompt) {
    if (message.role !== 'user') continue;
    const file = message.content.find((part) => part.type === 'file');
    if (file) throw new UnsupportedFunctionalityError({ functionality: `content of type ${file.mediaType}` });
  }
}

function withFaultOnce(reply: DemoReply, prompt: LanguageModelV3Prompt): DemoReply {
  if (!reply.fault?.once) return reply;
  const key = JSON.stringify(prompt);
  if (!happened.has(key)) {
    happened.add(key);
    return reply;
  }
  const { fault: _, ...healthy } = reply;
  return healthy;
}

async function* speak(
  reply: DemoReply,
  options: LanguageModelV3CallOptions,
): AsyncGenerator<LanguageModelV3StreamPart> {
  yield { type: 'stream-start', warnings: [] };
  if (reply.text) {
    yield { type: 'text-start', id: '0' };
    const words = reply.text.match(/\S+\s*/g) ?? [];
    for (const [index, delta] of words.entries()) {
      if (reply.fault && index === reply.fault.afterWords) yield* fail(reply.fault.kind, options);
      if (reply.wordMs > 0) await delay(reply.wordMs, undefined, abortable(options));
      yield { type: 'text-delta', id: '0', delta };
    }
    yield { type: 'text-end', id: '0' };
  }
  for (const [index, call] of reply.calls.entries()) {
    yield { type: 'tool-call', toolCallId: `call_${index}`, toolName: call.name, input: JSON.stringify(call.input) };
  }
  yield { type: 'finish', usage: usageOf(reply, options.prompt), finishReason: finishOf(reply) };
}

async function* fail(kind: string, options: LanguageModelV3CallOptions): AsyncGenerator<LanguageModelV3StreamPart> {
  if (kind === 'stall') await delay(2 ** 31 - 1, undefined, abortable(options));
  if (kind === 'break')
    throw new APICallError({
      message: 'the demo model broke the stream, as asked',
      url: ADDRESS,
      requestBodyValues: {},
      statusCode: 200,
      isRetryable: true,
    });
  yield { type: 'error', error: { message: 'the demo model failed mid-stream, as asked', type: 'server_error' } };
}

function finishOf({ calls }: DemoReply): LanguageModelV3FinishReason {
  return calls.length > 0 ? { unified: 'tool-calls', raw: 'tool_calls' } : { unified: 'stop', raw: 'stop' };
}

/** The demo model's tokens are words. */
function usageOf({ text }: DemoReply, prompt: LanguageModelV3Prompt): LanguageModelV3Usage {
  const words = (value: string) => value.match(/\S+/g)?.length ?? 0;
  const input = words(JSON.stringify(prompt));
  const output = words(text);
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
}

function statusError(status: number): APICallError {
  return new APICallError({
    message: `the demo model answered ${status}, as asked`,
    url: ADDRESS,
    requestBodyValues: {},
    statusCode: status,
    responseHeaders: status === 429 ? { 'retry-after': '2' } : {},
  });
}

function streamOf(parts: AsyncGenerator<LanguageModelV3StreamPart>): ReadableStream<LanguageModelV3StreamPart> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await parts.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await parts.return(undefined);
    },
  });
}
