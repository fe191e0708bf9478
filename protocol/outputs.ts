import { type Disposition, occurrenceOf, type OutcomeKind, sourceOf, type TurnSource } from './fates.js';
import type { Phase, Stall } from './liveness.js';
import type { Discards, Usage } from './usage.js';
import type { Fire } from './wakes.js';

/** A try of a model call: dispatches are counted by the session, attempts by Temporal; compared in this order. */
export interface TryNumber {
  dispatch: number;
  attempt: number;
}

/** Why a try's text was taken back. */
export type DiscardReason = 'resumed' | 'redispatched' | 'turn_ended';

export type NoticeCode =
  | 'malformed_signal'
  | 'unknown_signal'
  | 'steered_duplicate'
  | 'model_busy'
  | 'model_fallback'
  | 'waiting_for_capacity'
  | 'store_unavailable'
  | 'running_apart'
  | 'session_suspended'
  | 'session_resumed'
  | 'session_restarted'
  | 'session_draining'
  | 'session_undrained'
  | 'session_closed'
  | 'channel_not_registered'
  | 'delivery_failed'
  | 'input_not_supported';

interface OfTurn {
  turnId: string;
}

interface OfWake {
  wakeId: string;
}

interface OfOccurrence extends OfWake {
  dueMs: number;
}

interface OfTry extends OfTurn {
  callId: string;
  try: TryNumber;
}

/** What a session tells its clients, without the envelope that the journal adds. One discriminant: `kind`. */
export type OutputBody =
  | { kind: 'MessageReceived'; messageId: string; disposition: Disposition }
  /** The same for a reminder from outside. */
  | { kind: 'ReminderReceived'; reminderId: string; dueMs: number; disposition: Disposition }
  /** A wake was made, or changed (`replaced`). */
  | ({
      kind: 'WakeScheduled';
      wakeKey: string | null;
      schedule: string;
      zone: string;
      fires: Fire[];
      replaced: boolean;
    } & OfWake)
  /** An occurrence has its turn, or, with another target, was sent to a session. `skipped`: due times before it that started nothing, over the wake's life. */
  | ({ kind: 'WakeFired'; lateMs: number; skipped: number; turnId?: string; sessionId?: string } & OfOccurrence)
  /** An occurrence waits for its turn. Said once. */
  | ({ kind: 'WakeDeferred'; position: number } & OfOccurrence)
  /**
   * A due time starts nothing: nobody was there in time, a person was at work, or no other session could be started for it. Several are
   * said together, with the first of them as `dueMs`: those that met an occurrence of the same wake (`still_pending`), when that has ended
   * or the wake is over, and those after one that was taken up late (`missed`, then later than `dueMs`), when they were counted.
   */
  | ({
      kind: 'WakeSkipped';
      /** Of the first. */
      lateMs: number;
      reason: 'too_late' | 'still_pending' | 'not_started' | 'person_active' | 'missed';
      /** How many due times; default 1. */
      count?: number;
      /** None of them is later. */
      lastDueMs?: number;
    } & OfOccurrence)
  | ({
      kind: 'WakeCancelled';
      by: string;
      /** The item of an occurrence that waited. */
      withdrawn: string | null;
      /** The turn of an occurrence that ran, and whether it was stopped. */
      running: string | null;
      stopped: boolean;
    } & OfWake)
  /** Its time is over. */
  | ({ kind: 'WakeExpired'; expiredAtMs: number } & OfWake)
  /** It stays listed and fires no more until it is edited or scheduled again. */
  | ({ kind: 'WakeDisabled'; reason: string } & OfWake)
  /** The last output of a session: what it ended. */
  | { kind: 'SessionClosed'; by: string; wakes: string[]; items: string[]; interrupted: string | null }
  | ({ kind: 'TurnStarted'; source: TurnSource; silent: boolean; why: string } & OfTurn)
  | ({ kind: 'TextDelta'; text: string } & OfTry)
  | ({ kind: 'ReasoningDelta'; text: string } & OfTry)
  | ({ kind: 'TextStreamDiscarded'; reason: DiscardReason; phase: Phase | null } & OfTry)
  /** The whole text of a completed call (empty when it only called tools): replaces what its deltas showed. */
  | ({ kind: 'TextOutput'; text: string; isCallBoundary: true } & OfTry)
  | ({ kind: 'ToolStarted'; toolCallId: string; name: string; input: string } & OfTurn)
  | ({ kind: 'ToolFinished'; toolCallId: string; name: string; ok: boolean; result: string } & OfTurn)
  | ({ kind: 'StallWarning'; phase: Phase; silentMs: number; budgetMs: number } & OfTry)
  | ({ kind: 'Usage'; usage: Usage; model: string } & OfTry)
  | { kind: 'Notice'; code: NoticeCode; message: string; turnId?: string; isCallBoundary: false }
  | ({
      kind: 'TurnEnded';
      outcome: OutcomeKind;
      /** Why it ended this way; `null` when completed. */
      reason: string | null;
      /** Of completed calls only. */
      text: string;
      /** What the call in flight had shown when the turn was stopped; `null` when nothing, and for turns that ended otherwise. */
      partial: string | null;
      usage: Usage;
      source: TurnSource;
      silent: boolean;
      /** With `timeout`. */
      stall?: Stall;
    } & OfTurn &
      Partial<Discards>);

export type OutputKind = OutputBody['kind'];

/** An output as its writer makes it: `key` is deterministic, so that writing it twice writes it once. */
export type NewOutput = OutputBody & { key: string };

/** An output as the journal keeps it. */
export type Output = OutputBody & {
  /** Position in the session's journal: 1, 2, 3 … without holes. */
  seq: number;
  /** Milliseconds since the epoch, by the clock of the process that wrote it. */
  atMs: number;
};

/** Kinds that pass every filter: a reader that missed one would show text that no longer stands, or wait for ever. */
export const UNFILTERABLE_KINDS: readonly OutputKind[] = ['TextStreamDiscarded', 'TurnEnded'];

/**
 * An output as this version has it, whichever version wrote it. Stated defaults of fields that came later: `TurnEnded.partial` is `null`
 * (such a writer kept no partial text).
 */
export function withDefaults(output: Output): Output {
  return output.kind === 'TurnEnded' ? { ...output, partial: output.partial ?? null } : output;
}

/** What the sender of an item is told of it. */
export function toReceived(itemId: string, disposition: Disposition): OutputBody {
  const { kind, key } = sourceOf(itemId);
  if (kind !== 'reminder') return { kind: 'MessageReceived', messageId: itemId, disposition };
  const { id, dueMs } = occurrenceOf(key);
  return { kind: 'ReminderReceived', reminderId: id, dueMs, disposition };
}
