import type { LanguageModelV3Usage } from '@ai-sdk/provider';
import { usageOf } from '../../activities/usage-of.js';

/** As the provider libraries hand it over: their numbers, and what the provider sent. */
function aUsage(
  input: Partial<LanguageModelV3Usage['inputTokens']>,
  output: Partial<LanguageModelV3Usage['outputTokens']>,
  raw?: LanguageModelV3Usage['raw'],
): LanguageModelV3Usage {
  return {
    inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined, ...input },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined, ...output },
    ...(raw === undefined ? {} : { raw }),
  };
}

test('OpenAI counts cached input inside the input, and reasoning inside the output', () => {
  // 20 tokens in, of which 12 from the cache; 7 out, of which 3 reasoned.
  const raw = {
    input_tokens: 20,
    input_tokens_details: { cached_tokens: 12 },
    output_tokens: 7,
    output_tokens_details: { reasoning_tokens: 3 },
  };
  const usage = usageOf(aUsage({ total: 20, noCache: 8, cacheRead: 12 }, { total: 7, text: 4, reasoning: 3 }, raw));
  expect(usage).toEqual({
    uncachedInputTokens: 8,
    cacheReadTokens: 12,
    cacheWriteTokens: null,
    outputTokens: 7,
    reasoningTokens: 3,
  });
});

test('Anthropic counts what it read from and wrote to the cache beside the input', () => {
  // 8 tokens in, 12 more from the cache, 5 more into it: 25 in all.
  const raw = { input_tokens: 8, cache_read_input_tokens: 12, cache_creation_input_tokens: 5, output_tokens: 7 };
  const usage = usageOf(aUsage({ total: 25, noCache: 8, cacheRead: 12, cacheWrite: 5 }, { total: 7 }, raw));
  expect(usage).toEqual({
    uncachedInputTokens: 8,
    cacheReadTokens: 12,
    cacheWriteTokens: 5,
    outputTokens: 7,
    reasoningTokens: null,
  });
});

test('an OpenAI-compatible server that says no more than its two sums leaves the rest unknown', () => {
  // The library makes 0 of what was not sent.
  const raw = { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27 };
  const usage = usageOf(aUsage({ total: 20, noCache: 20, cacheRead: 0 }, { total: 7, text: 7, reasoning: 0 }, raw));
  expect(usage).toEqual({
    uncachedInputTokens: 20,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    outputTokens: 7,
    reasoningTokens: null,
  });
});

test('a 0 that the provider sent is a 0', () => {
  const raw = {
    prompt_tokens: 20,
    completion_tokens: 0,
    prompt_tokens_details: { cached_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  };
  const usage = usageOf(aUsage({ total: 20, noCache: 20, cacheRead: 0 }, { total: 0, text: 0, reasoning: 0 }, raw));
  expect(usage).toMatchObject({ uncachedInputTokens: 20, cacheReadTokens: 0, outputTokens: 0, reasoningTokens: 0 });
});

test('a 0 for reads from the cache is not known from a number of writes to it', () => {
  const raw = { input_tokens: 8, cache_creation_input_tokens: 5, output_tokens: 7 };
  const usage = usageOf(aUsage({ total: 13, noCache: 8, cacheRead: 0, cacheWrite: 5 }, { total: 7 }, raw));
  expect(usage).toMatchObject({ uncachedInputTokens: 8, cacheReadTokens: null, cacheWriteTokens: 5 });
});

test('a provider that said nothing is unknown in every bucket', () => {
  const nothing = {
    uncachedInputTokens: null,
    cacheReadTokens: null,
    cacheWriteTokens: null,
    outputTokens: null,
    reasoningTokens: null,
  };
  expect(usageOf(aUsage({}, {}))).toEqual(nothing);
  expect(usageOf(aUsage({ total: 0, noCache: 0, cacheRead: 0 }, { total: 0, reasoning: 0 }, {}))).toEqual(nothing);
});

test('a model without a raw usage is believed as it is', () => {
  const usage = usageOf(aUsage({ total: 5, noCache: 5, cacheRead: 0, cacheWrite: 0 }, { total: 2, reasoning: 0 }));
  expect(usage).toEqual({
    uncachedInputTokens: 5,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 2,
    reasoningTokens: 0,
  });
});

test('input of which only the uncached part is known is that part', () => {
  expect(usageOf(aUsage({ noCache: 5 }, {}))).toMatchObject({ uncachedInputTokens: 5, cacheReadTokens: null });
});

test('more read from the cache than went in makes no negative number', () => {
  expect(usageOf(aUsage({ total: 5, cacheRead: 9 }, {}))).toMatchObject({ uncachedInputTokens: 0, cacheReadTokens: 9 });
});
