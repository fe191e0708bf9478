import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 50;

type Nothing = undefined | null | false;

/** Asks until the answer is something; fails, saying what it waited for, after `limitMs`. */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  limitMs = 20_000,
): Promise<Exclude<T, Nothing>> {
  for (const deadlineMs = Date.now() + limitMs; Date.now() < deadlineMs; await sleep(POLL_MS)) {
    const answer = await ask();
    if (answer !== undefined && answer !== null && answer !== false) return answer as Exclude<T, Nothing>;
  }
  throw new Error(`Waited ${limitMs} ms in vain for: ${what}`);
}
