import { itemIdOf, occurrenceOf, type OutcomeKind, type TurnSource } from '../../protocol/fates.js';
import { LIMITS } from '../../protocol/limits.js';
import type { TimedSchedule, WakeView } from '../../protocol/wakes.js';
import { hashText } from './content-hash.js';
import { say } from './outbox.js';
import { occurrenceKeys } from './occurrences.js';
import type { SessionState, Turn, Wake } from './state.js';

/**
 * What a session knows of its wakes. Durable state is the truth, the timer a nudge.
 *
 * W1 A wake that is not in `wakes` never fires; what had fired before is found by its item.
 * W2 Due times of a wake strictly increase: none is at or before `lastDueMs`, whatever was computed or edited.
 * W3 At most one occurrence of a wake waits or runs; further due times are skipped and counted.
 */

export function changeWake(state: SessionState, id: string, change: (wake: Wake) => Wake): SessionState {
  return { ...state, wakes: state.wakes.map((wake) => (wake.id === id ? change(wake) : wake)) };
}

export function removeWake(state: SessionState, id: string): SessionState {
  return { ...state, wakes: state.wakes.filter((wake) => wake.id !== id) };
}

/** By id, or by the caller's key. */
export function findWake(state: SessionState, name: string): Wake | undefined {
  return state.wakes.find((wake) => wake.id === name) ?? state.wakes.find((wake) => wake.key === name);
}

/** The occurrence of a wake that waits, runs, or is on its way to another session. */
export function pendingOf(state: SessionState, wakeId: string): string | null {
  return occurrenceKeys(state).find((key) => occurrenceOf(key).id === wakeId) ?? null;
}

/** When the wake is due for this session: the same part of the jitter after each due time. */
export function spreadMs({ sessionId }: SessionState, { id, jitterMs }: Wake): number {
  return jitterMs === 0 ? 0 : parseInt(hashText(`${sessionId}/${id}`).slice(-12), 16) % jitterMs;
}

/** The next instant at which a wake fires or ends, if any does. */
export function nextInstantMs(state: SessionState): number | null {
  const instants = state.wakes.flatMap((wake) => [
    ...(wake.fires[0] ? [wake.fires[0].dueMs + spreadMs(state, wake)] : []),
    ...(wake.expiresAtMs === null ? [] : [wake.expiresAtMs]),
  ]);
  return instants.length === 0 ? null : Math.min(...instants);
}

export function disable(state: SessionState, wakeId: string, reason: string): SessionState {
  const text = reason.slice(0, LIMITS.reasonChars);
  const disabled = changeWake(state, wakeId, (wake) => ({ ...wake, disabled: text, fires: [], needsFires: false }));
  return say(disabled, { kind: 'WakeDisabled', wakeId, reason: text });
}

/**
 * Failures in a row disable a recurring wake. Ends that say nothing of the wake leave the count alone: an abort, an interruption, a
 * provider that stays busy, workers that disagree.
 */
export function judgeWake(state: SessionState, { source, trouble }: Turn, outcome: OutcomeKind): SessionState {
  if (source.kind !== 'wake') return state;
  const { id } = occurrenceOf(source.key);
  return countOutcome(sayCoalesced(state, id), id, { trouble, outcome });
}

function countOutcome(
  state: SessionState,
  id: string,
  { trouble, outcome }: { trouble: Turn['trouble']; outcome: OutcomeKind },
): SessionState {
  if (outcome === 'completed') return countFailures(state, id, () => 0);
  const isReal = outcome === 'failed' || outcome === 'timeout';
  if (!isReal || trouble === 'ModelBusy' || trouble === 'ProfileChanged') return state;
  return countFailures(state, id, (failures) => failures + 1);
}

/** Due times that met an occurrence which has ended now, or whose wake is over: told together, once. */
export function sayCoalesced(state: SessionState, wakeId: string): SessionState {
  const wake = state.wakes.find(({ id }) => id === wakeId);
  if (!wake?.coalesced) return state;
  const { count, firstDueMs: dueMs, lastDueMs } = wake.coalesced;
  const told = changeWake(state, wakeId, (found) => ({ ...found, coalesced: null }));
  return say(told, { kind: 'WakeSkipped', wakeId, dueMs, lateMs: 0, reason: 'still_pending', count, lastDueMs });
}

export function countFailures(state: SessionState, wakeId: string, next: (failures: number) => number): SessionState {
  const counted = changeWake(state, wakeId, (wake) => ({
    ...wake,
    counts: { ...wake.counts, failures: next(wake.counts.failures) },
  }));
  const wake = counted.wakes.find(({ id }) => id === wakeId);
  if (!wake || wake.disabled !== null || wake.counts.failures < LIMITS.wakeFailures) return counted;
  const reason = `${wake.counts.failures} of its turns failed, one after the other; edit it or schedule it again to put it to work`;
  return disable(counted, wakeId, reason);
}

export function toWakeView(state: SessionState, wake: Wake): WakeView {
  const pending = pendingOf(state, wake.id);
  const source = (key: string): TurnSource => ({ kind: 'wake', key });
  const { id, key, zone, fires, target, channel, missed, maxLatenessMs, jitterMs, skipWhenActiveMs } = wake;
  const { expiresAtMs, createdAtMs, counts } = wake;
  return {
    ...{ id, key, zone, fires, target, channel, missed, maxLatenessMs, jitterMs, skipWhenActiveMs },
    ...{ expiresAtMs, createdAtMs, counts },
    kind: wake.schedule.kind,
    schedule: inWords(wake.schedule),
    prompt: shown(wake.prompt),
    state: wake.disabled === null ? 'active' : 'disabled',
    reason: wake.disabled,
    createdBy: wake.createdBy.name,
    pending: pending === null ? null : itemIdOf(source(pending)),
  };
}

function shown(prompt: Wake['prompt']): string {
  if ('ref' in prompt) return prompt.ref;
  const { text } = prompt;
  const limit = LIMITS.wakePromptShownChars;
  return text.length > limit ? `${text.slice(0, limit)} …` : text;
}

export function inWords(schedule: TimedSchedule): string {
  switch (schedule.kind) {
    case 'once':
      return `once at ${new Date(schedule.atMs).toISOString()}`;
    case 'interval':
      return `every ${schedule.everyMs / 1000} s from ${new Date(schedule.startMs).toISOString()}`;
    case 'cron':
      return `cron ${schedule.expression}`;
  }
}
