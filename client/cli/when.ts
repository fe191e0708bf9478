import { InvalidArgumentError } from 'commander';

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/;

/** Milliseconds of a length of time like `10s`, `1h30m` or `1.5d`. */
export function parseDuration(text: string): number {
  if (!DURATION.test(text)) throw new InvalidArgumentError('Write a length of time like 10s, 5m, 1h30m or 2d.');
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  return Math.round(parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNITS_MS[unit!]!, 0));
}

const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/;

/** Milliseconds since 1970 of an instant in ISO 8601 that says its offset: without one, machines would disagree about it. */
export function parseInstant(text: string): number {
  const atMs = INSTANT.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(atMs)) {
    throw new InvalidArgumentError(
      'Write an instant with its offset, like 2026-01-31T09:00:00Z or 2026-01-31T10:00+01:00.',
    );
  }
  return atMs;
}

/** An instant, or a length of time from now. */
export function parseInstantOrDuration(text: string, nowMs: number): number {
  return DURATION.test(text) ? nowMs + parseDuration(text) : parseInstant(text);
}
