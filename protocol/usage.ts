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

/**
 * What tries cost whose work was thrown away: resumed, redispatched, stopped, or of a call that never completed. A refused request is none.
 * Counted apart and never part of a `Usage` (P7). Outputs have these fields only when something was discarded.
 */
export interface Discards {
  discardedAttempts: number;
  /**
   * For each of these tries the input tokens of the session's last call that had completed when it began: an estimate. `null` when for one
   * of them there was no such call, or the provider did not say.
   */
  discardedEstimatedInputTokens: number | null;
  /** Characters of text, reasoning and tool arguments that these tries had received. */
  discardedReceivedChars: number;
}

/** Tokens of a request's whole input, whatever bucket they are in; `null` when the provider did not say. */
export function inputTokens({ uncachedInputTokens, cacheReadTokens, cacheWriteTokens }: Usage): number | null {
  if (uncachedInputTokens === null) return null;
  return uncachedInputTokens + (cacheReadTokens ?? 0) + (cacheWriteTokens ?? 0);
}
