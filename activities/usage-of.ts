import type { LanguageModelV3Usage } from '@ai-sdk/provider';
import type { Usage } from '../protocol/usage.js';

/** A provider's usage in disjoint buckets; what it did not say stays `null`. */
export function usageOf({ inputTokens, outputTokens }: LanguageModelV3Usage): Usage {
  return {
    uncachedInputTokens: inputTokens.noCache ?? uncached(inputTokens),
    cacheReadTokens: inputTokens.cacheRead ?? null,
    cacheWriteTokens: inputTokens.cacheWrite ?? null,
    outputTokens: outputTokens.total ?? null,
    reasoningTokens: outputTokens.reasoning ?? null,
  };
}

function uncached({ total, cacheRead, cacheWrite }: LanguageModelV3Usage['inputTokens']): number | null {
  return total === undefined ? null : total - (cacheRead ?? 0) - (cacheWrite ?? 0);
}
