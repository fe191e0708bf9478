import { LIMITS } from '../../protocol/limits.js';
import { SIGNAL } from '../../protocol/names.js';
import type { SessionState, Wake } from './state.js';
import { changeWake, disable } from './wakes.js';

/**
 * Word from outside, which wakes are judged by: how long ago a person wrote, and how often the agent has woken itself since anyone did.
 */

/** What a signal brought in, if anything. A reminder is word from outside too, and no person at work. */
export function noteInput(before: SessionState, after: SessionState, name: string, nowMs: number): SessionState {
  if (after.seen.at(-1)?.id === before.seen.at(-1)?.id) return after;
  const heard = endStreak(after);
  return name === SIGNAL.reminder ? heard : { ...heard, personAtMs: nowMs };
}

/** Wakes that were paused go on where they stood: what was due meanwhile is late. */
export function endStreak(state: SessionState): SessionState {
  const wakes = state.wakes.map((wake) =>
    wake.paused === null ? wake : { ...wake, fires: wake.paused, paused: null, disabled: null },
  );
  return { ...state, selfMadeFires: 0, wakes };
}

/** A person wrote so lately, or is being answered, that the wake keeps away. */
export function isPersonActive({ turn, personAtMs }: SessionState, wake: Wake, nowMs: number): boolean {
  if (wake.skipWhenActiveMs === null) return false;
  const isRecent = personAtMs !== null && nowMs - personAtMs < wake.skipWhenActiveMs;
  return isRecent || turn?.source.kind === 'message';
}

export function isStreakOver({ selfMadeFires }: SessionState, { createdBy }: Wake): boolean {
  return createdBy.rank === 'agent' && selfMadeFires >= LIMITS.selfMadeFires;
}

/** The wake fires no more until somebody writes, or a person edits a wake. */
export function pause(state: SessionState, wakeId: string): SessionState {
  const reason = `the agent has woken itself ${state.selfMadeFires} times without word from anyone: it is paused until a message or reminder comes, or a person edits a wake`;
  const { fires: paused } = state.wakes.find(({ id }) => id === wakeId)!;
  return changeWake(disable(state, wakeId, reason), wakeId, (wake) => ({ ...wake, paused }));
}
