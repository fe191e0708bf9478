/** Tokens of completed provider requests, in disjoint buckets. `null` = the provider did not say (never 0, never a guess: P7). */
export interface Usage {
  uncachedInputTokens: number | null;
  cacheReadTokens: number | null;
  cacheWriteTokens: number | null;
  /** Reasoning included. */
  outputTokens: number | null;
  /** The part of `outputTokens` spent on reasoning. */
  reasoningTokens: number | null;
}

export const UNKNOWN_USAGE: Usage = {
  uncachedInputTokens: null,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  outputTokens: null,
  reasoningTokens: null,
};

/** The sum bucket by bucket; a bucket that any side knows keeps what is known, one that nobody knows stays `null`. */
export function addUsage(left: Usage, right: Usage): Usage {
  const add = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : a + b);
  return {
    uncachedInputTokens: add(left.uncachedInputTokens, right.uncachedInputTokens),
    cacheReadTokens: add(left.cacheReadTokens, right.cacheReadTokens),
    cacheWriteTokens: add(left.cacheWriteTokens, right.cacheWriteTokens),
    outputTokens: add(left.outputTokens, right.outputTokens),
    reasoningTokens: add(left.reasoningTokens, right.reasoningTokens),
  };
}
