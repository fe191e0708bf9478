import type { ProviderName } from './provider.js';

/** How each provider says the things that a fault is made of. */
export interface Dialect {
  /** Only in the event that carries the finish reason. */
  finish: string;
  /** Only in the event or line that ends the stream after it; `null` when the finish is the last event. */
  terminator: string | null;
  ping: string;
  emptyDelta: string;
  /** An error event, with the provider's word for it. */
  error(word: string, message: string): string;
  /** Body of an HTTP reply that tells of an error. */
  errorBody(word: string, message: string): unknown;
  /** The usage object of a reply whose input was cached in part, written in part, and whose output was reasoned in part. */
  usage: Record<string, unknown>;
  overloaded: string;
}

const openAiErrorBody = (word: string, message: string) => ({
  error: { message, type: word, param: null, code: word },
});
const chunk = (content: string) =>
  `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]}\n\n`;

export const DIALECTS: Record<ProviderName, Dialect> = {
  'openai-compatible': {
    finish: '"finish_reason":"',
    terminator: '[DONE]',
    ping: ': a comment, for this provider takes no pings\n\n',
    emptyDelta: chunk(''),
    error: (word, message) => `data: ${JSON.stringify(openAiErrorBody(word, message))}\n\n`,
    errorBody: openAiErrorBody,
    usage: {
      prompt_tokens: 20,
      completion_tokens: 7,
      total_tokens: 27,
      prompt_tokens_details: { cached_tokens: 12 },
      completion_tokens_details: { reasoning_tokens: 3 },
    },
    overloaded: 'rate_limit_exceeded',
  },
  openai: {
    finish: '"type":"response.completed"',
    terminator: null,
    ping: 'event: ping\ndata: {"type":"ping"}\n\n',
    emptyDelta:
      'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","item_id":"ITEM","output_index":0,"content_index":0,"delta":""}\n\n',
    error: (word, message) =>
      `event: error\ndata: ${JSON.stringify({ type: 'error', sequence_number: 9, code: word, message, param: null })}\n\n`,
    errorBody: openAiErrorBody,
    usage: {
      input_tokens: 20,
      output_tokens: 7,
      total_tokens: 27,
      input_tokens_details: { cached_tokens: 12 },
      output_tokens_details: { reasoning_tokens: 3 },
    },
    overloaded: 'server_is_overloaded',
  },
  anthropic: {
    finish: '"type":"message_delta"',
    terminator: '"type":"message_stop"',
    ping: 'event: ping\ndata: {"type":"ping"}\n\n',
    emptyDelta:
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}\n\n',
    error: (word, message) =>
      `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type: word, message } })}\n\n`,
    errorBody: (word, message) => ({ type: 'error', error: { type: word, message } }),
    usage: { input_tokens: 8, output_tokens: 7, cache_read_input_tokens: 12, cache_creation_input_tokens: 5 },
    overloaded: 'overloaded_error',
  },
};

/** Replaces the usage that the imitation of the provider reports; without one, leaves it out. */
export function withUsage(usage: Record<string, unknown> | null): (event: string) => string {
  return (event) => event.replace(/,"usage":\{[^{}]*\}/, usage === null ? '' : `,"usage":${JSON.stringify(usage)}`);
}
