import type { LanguageModelV3Usage } from '@ai-sdk/provider';
import type { Usage } from '../protocol/usage.js';

/** Names under which providers report a number of tokens. */
const INPUT = /"(prompt|input)_?tokens?"\s*:\s*\d/i;
const CACHE_READ = /"(?![^"]*(creat|writ))[^"]*cache[^"]*"\s*:\s*\d/i;
const CACHE_WRITE = /"[^"]*cache[^"]*(creat|writ)[^"]*"\s*:\s*\d/i;
const OUTPUT = /"(completion|output)_?tokens?"\s*:\s*\d/i;
const REASONING = /"[^"]*(reasoning|thinking|thought)[^"]*"\s*:\s*\d/i;

/**
 * A provider's usage in disjoint buckets; what it did not say stays `null`. The provider libraries write 0 for what the usage as sent
 * left out, so a 0 counts only when that names the bucket.
 */
export function usageOf({ inputTokens, outputTokens, raw }: LanguageModelV3Usage): Usage {
  const sent = raw === undefined ? null : JSON.stringify(raw);
  const known = (tokens: number | undefined, name: RegExp): number | null =>
    tokens === undefined || (tokens === 0 && sent !== null && !name.test(sent)) ? null : Math.max(0, tokens);
  const total = known(inputTokens.total, INPUT);
  const cacheReadTokens = known(inputTokens.cacheRead, CACHE_READ);
  const cacheWriteTokens = known(inputTokens.cacheWrite, CACHE_WRITE);
  return {
    uncachedInputTokens:
      total === null
        ? known(inputTokens.noCache, INPUT)
        : Math.max(0, total - (cacheReadTokens ?? 0) - (cacheWriteTokens ?? 0)),
    cacheReadTokens,
    cacheWriteTokens,
    outputTokens: known(outputTokens.total, OUTPUT),
    reasoningTokens: known(outputTokens.reasoning, REASONING),
  };
}
