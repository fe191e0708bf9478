/** Milliseconds that a tool may stay silent when it does not say otherwise. */
export const DEFAULT_TOOL_SILENCE_MS = 60_000;
/** Attempts of a tool that may be repeated; any other has one. */
export const IDEMPOTENT_ATTEMPTS = 3;
