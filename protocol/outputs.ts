import type { Disposition, OutcomeKind, TurnSource } from './fates.js';
import type { Phase, Stall } from './liveness.js';
import type { Discards, Usage } from './usage.js';

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
  | 'input_not_supported';

interface OfTurn {
  turnId: string;
}

interface OfTry extends OfTurn {
  callId: string;
  try: TryNumber;
}

/** What a session tells its clients, without the envelope that the journal adds. One discriminant: `kind`. */
export type OutputBody =
  | { kind: 'MessageReceived'; messageId: string; disposition: Disposition }
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
