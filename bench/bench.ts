/** A benchmark: prints its progress to standard error and answers what it measured, with the bounds that do not hold. */
export type Bench = (options: { isShort: boolean }) => Promise<{ measured: Record<string, unknown>; broken: string[] }>;
