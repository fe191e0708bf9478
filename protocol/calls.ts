import type { Undelivered } from './channels.js';
import type { ItemRecord, OutcomeKind, TurnSource } from './fates.js';
import type { Part } from './messages.js';
import type { Stall } from './liveness.js';
import type { NewOutput, TryNumber } from './outputs.js';
import type { Usage } from './usage.js';

/**
 * Inputs and results of the activities. All are small: content lives in the store.
 */

/** What a model call adds to the transcript before it asks: in this order, ids derived from the call's. */
export type AppendItem =
  | {
      kind: 'message';
      messageId: string;
      parts: Part[];
      contentHash: string;
      /** The turn that took the item in, when it is not the calling one. */
      turnId?: string;
    }
  /** The result is in the store under the tool call's id; `lost` says why there may be none, `neverRan` that there is none and no effect. */
  | { kind: 'toolResult'; toolCallId: string; name: string; lost: string | null; neverRan?: true }
  /** What an earlier call had said when its turn was stopped: read from the journal, and marked in the transcript. */
  | { kind: 'interruptedCall'; callId: string };

export interface CallModelInput {
  sessionId: string;
  /** Differs when a session id is started anew after its workflow ended. */
  chain: string;
  agent: string;
  turnId: string;
  callId: string;
  dispatch: number;
  /** Entry that the transcript stands at; `null` = empty. */
  head: string | null;
  append: AppendItem[];
  /** Outputs known at dispatch; written before the provider is asked. */
  outputs: NewOutput[];
  profileVersion: string;
  /** Place in the agent's chain of models; absent = the first. */
  link?: number;
  settlement: Settlement;
  /** With a turn's first call: where its outcome is to go. A worker that does not know the channel refuses the turn. */
  channel?: string;
}

/** What the session knows of the turn, so that the call that turns out to be its last one can record its outcome itself. */
export interface Settlement {
  source: TurnSource;
  silent: boolean;
  startedAtMs: number;
  /** Of the turn's completed calls so far. */
  usage: Usage;
  /** Items whose fate is this turn's: the one that opened it first. */
  items: { itemId: string; contentHash: string }[];
  /** Items that wait for turns of their own. */
  queued: number;
}

export interface ToolCallRef {
  toolCallId: string;
  name: string;
  /** How the session schedules the tool: an agent's business, so it comes with the call. */
  heartbeatTimeoutMs: number;
  maximumAttempts: number;
}

/** What every completed call tells. */
interface CompletedCall {
  /** The transcript with the answer in it. */
  head: string;
  usage: Usage;
  model: string;
  /** Temporal's attempt that completes the activity. */
  attempt: number;
  /** Items of `append` that were repeats of older ones, with what became of those. */
  repeats: ItemRecord[];
}

export type CallModelResult =
  /** The model asks for tools; there is at least one call. */
  | ({ kind: 'toolCalls'; toolCalls: ToolCallRef[] } & CompletedCall)
  /** The call was the turn's last, and how the turn ended is recorded already, in the transaction that completed the call. */
  | ({ kind: 'answered'; outcome: OutcomeKind; reason: string | null; endedAtMs: number } & CompletedCall)
  /** The item that opened the turn is a repeat: nothing was asked, nothing started. */
  | { kind: 'repeated'; first: ItemRecord };

export interface CallToolInput {
  sessionId: string;
  agent: string;
  turnId: string;
  callId: string;
  toolCallId: string;
  name: string;
  /** The turn was started by a wake or a reminder. */
  isAutomated?: true;
}

/** `ok` is false for results that tell the model of an error; neither ends the turn. */
export interface CallToolResult {
  ok: boolean;
}

/** The one record of how a turn ended. */
export interface TurnOutcome {
  turnId: string;
  outcome: OutcomeKind;
  reason: string | null;
  source: TurnSource;
  silent: boolean;
  usage: Usage;
  startedAtMs: number;
  endedAtMs: number;
  /** With `timeout`. */
  stall?: Stall;
}

/** Session status as lists show it. */
export type SessionStatus = 'idle' | 'running' | 'suspended' | 'closed';

export interface RecordInput {
  sessionId: string;
  chain: string;
  agent: string;
  status: SessionStatus;
  queued: number;
  outputs: NewOutput[];
  outcomes: TurnOutcome[];
  items: ItemRecord[];
  /** Whether the session drains, when that changed; `change` numbers the changes of a chain, so that the newest stands. */
  drain?: { isDraining: boolean; change: number };
  /** What no channel has taken. */
  undelivered?: Undelivered[];
}

export interface TryRef extends TryNumber {
  sessionId: string;
  callId: string;
}
