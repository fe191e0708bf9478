import type { AppendItem, CallModelResult, RecordInput, SessionStatus, TryRef } from '../protocol/calls.js';
import type { DeliverInput } from '../protocol/channels.js';
import type { ItemRecord, OutcomeKind, TurnSource } from '../protocol/fates.js';
import type { NewOutput, Output, OutputKind } from '../protocol/outputs.js';
import type { Evidence, Phase, Stall } from '../protocol/liveness.js';
import type { Discards, Usage } from '../protocol/usage.js';

/**
 * The port to everything a session keeps outside Temporal: transcript, outputs, calls, outcomes.
 *
 * I1 Every method is one transaction: it happened whole or not at all.
 * I2 Every write is idempotent by a key that its caller derives (never by time or chance), because a frozen worker writes again when it thaws.
 * I3 Writes of a model try pass the fence, or are refused with `StaleTryError`: the try is the newest begun one of its call,
 *    the call has no result, its turn no recorded outcome, and its chain was not replaced by a newer one.
 * I4 A session's outputs have `seq` 1, 2, 3 … without holes; a reader that saw `n` never later finds a new row at or below `n`.
 * I5 A store that is locked, full, corrupt or gone throws `StoreUnavailableError`; the caller decides how long to go on.
 */
export interface SessionStore {
  /** Opens a try: dedupe, fence, inputs, outputs known at dispatch and the registry row, before anything is paid. Throws `SessionDrainingError` when the session drains and the call was tried before, `SessionClosedError` when the session was closed. */
  beginTry(begin: BeginTry): Promise<BegunTry>;
  /** Adds what a running try streamed, and what it has shown of itself so far. Fenced. */
  appendTryOutputs(tryRef: TryRef, outputs: NewOutput[], evidence?: Evidence): Promise<void>;
  /**
   * Ends a call with its result: assistant entry, outputs, result row, the session's head; and with it its turn, when it was the last one.
   * Fenced. Repeated by the same try it changes nothing.
   */
  finishTry(finish: FinishTry): Promise<void>;
  /** Takes a try that ended without a result off the registry; a finished one is off already. Not fenced, never throws `StaleTryError`; an unknown try is ignored. */
  endTry(tryRef: TryRef, how?: TryEnd): Promise<void>;

  /** The chain of entries from the root to `head`, oldest first. Throws `TranscriptMissingError` when any is absent. */
  transcript(sessionId: string, head: string | null): Promise<Entry[]>;
  /** One entry, or `null`: for a tool to find its call. */
  findEntry(sessionId: string, entryId: string): Promise<Entry | null>;

  /** Claims a tool call before its effect, with its `ToolStarted` output. Throws `StaleTryError` when its turn has ended: no effect then. */
  beginTool(begin: BeginTool): Promise<BegunTool>;
  /** Records a tool's result and, while its turn runs, its `ToolFinished` output; the first result wins. */
  finishTool(finish: FinishTool): Promise<void>;

  /** Model tries and tool runs that began and are not known to have ended, whoever runs them. */
  openTasks(): Promise<OpenTask[]>;
  /** Says that an open task was lost with its worker; safe to repeat. Answers how many workers its call has lost. */
  countLoss(task: OpenTask): Promise<number>;
  /** How many calls are under suspicion of killing their workers, and not over yet. */
  countSuspects(): Promise<number>;
  /**
   * Those of the calls, all of which have begun, that nobody waits for any more: their turn or chain has ended, or another task has
   * taken the call over. Reads only; meant to be asked once a second with everything that a process runs.
   */
  findClosed<Live extends LiveCall>(calls: readonly Live[]): Promise<Live[]>;

  /**
   * Writes outputs, outcomes (with their `TurnEnded` output), item fates, whether the session drains, and its projection; closes the calls
   * of the ended turns. Text that an unfinished call showed is taken back, but of a stopped turn it stays, as the outcome's `partial`.
   * The first outcome of a turn stands. A record that brings nothing new, or outcomes of older turns than the newest known, leaves the
   * projection alone; none makes it `running`, which is what beginning a try does.
   * A session that was recorded as `closed` stays so.
   */
  record(input: RecordInput): Promise<void>;

  /** Outputs with `seq` above `afterSeq`, ascending. A filter never hides `UNFILTERABLE_KINDS`. */
  readOutputs(query: OutputQuery): Promise<Output[]>;
  /** The newest `seq` of each session that has any: one query, so that many readers can wait for news together. */
  lastSeqs(sessionIds: readonly string[]): Promise<Map<string, number>>;
  findItem(sessionId: string, itemId: string): Promise<ItemRecord | null>;
  findOutcome(sessionId: string, turnId: string): Promise<StoredOutcome | null>;
  findSession(sessionId: string): Promise<SessionRow | null>;
  /** Newest activity first. */
  listSessions(query: { tenant?: string; limit: number }): Promise<SessionRow[]>;

  /** A supervisor's row, held from now on. */
  takeLease(lease: NewLease): Promise<void>;
  /** Shows that the supervisor lives. False when the lease was taken over or is gone: then its worker must end. */
  renewLease(renewal: Renewal): Promise<boolean>;
  /** Takes the lease of a supervisor that stands still, if nobody renewed or took it since it was seen. True for the one who has it. */
  takeOverLease(takeOver: TakeOver): Promise<boolean>;
  dropLease(leaseId: string): Promise<void>;
  findLease(leaseId: string): Promise<Lease | null>;
  /** Oldest first. */
  leases(): Promise<Lease[]>;

  /** `null` when nothing is known against the account. An expired gate is still told: only a success removes it. */
  findGate(account: string): Promise<AccountGate | null>;
  /** The account answered that it is busy: nobody asks it for a while. A gate that is closed already moves only for a later time that the provider named. */
  closeGate(closing: ClosingGate): Promise<AccountGate>;
  /** The account answered: its gate is forgotten, unless it was closed anew since the answer was asked for. */
  openGate(opening: { account: string; nowMs: number }): Promise<void>;

  /** A delivery for its channel to make, known from now on: a repeat changes nothing. */
  acceptDelivery(delivery: DeliverInput): Promise<void>;
  /**
   * Deliveries of a channel that are due, the longest due first, each of them held: nobody else gets it before `holdMs` have passed, so one
   * whose holder died is made again, under the same id. Each claim is an attempt.
   */
  claimDeliveries(claim: ClaimDeliveries): Promise<StoredDelivery[]>;
  /** How a claimed attempt ended. Of an attempt that is not the newest, or of a delivery that ended meanwhile, nothing changes. */
  endDelivery(ending: EndDelivery): Promise<void>;
  findDelivery(id: string): Promise<StoredDelivery | null>;
  /** Newest change first. */
  listDeliveries(query: DeliveryQuery): Promise<StoredDelivery[]>;
  /** By hand: a dead or dropped delivery is due at once, with all its time before it; a pending one is due at once. False when it is unknown or delivered. */
  retryDelivery(id: string): Promise<boolean>;
  /** By hand: it is not made any more. False when it is unknown or delivered. */
  dropDelivery(id: string): Promise<boolean>;

  /** Name of the newest migration that the store has run. */
  schemaVersion(): Promise<string>;

  /** Stores content under its SHA-256 and returns `blob:<hex>`. */
  putBlob(blob: { bytes: Uint8Array; mediaType: string }): Promise<string>;
  getBlob(ref: string): Promise<{ bytes: Uint8Array; mediaType: string } | null>;

  close(): Promise<void>;
}

export interface BeginTry extends TryRef {
  chain: string;
  agent: string;
  turnId: string;
  head: string | null;
  append: AppendItem[];
  /**
   * Fingerprint of `head` and `append`. A call that is known with another one is not this call: the store is newer than the
   * session (its server was restored from an older copy), and `TranscriptMissingError` says so.
   */
  inputHash: string;
  /** Place of the model in the agent's chain; default the first. */
  link?: number;
  /** Written once per call, whichever try comes first. */
  outputs: NewOutput[];
  /** Who runs it: for the reaper. */
  workerInstance: string;
  taskToken: string;
}

export type BegunTry =
  /** Ask the provider; `base` is the head that the transcript stands at with the inputs added. */
  | {
      kind: 'begun';
      base: string | null;
      repeats: ItemRecord[];
      /** What the user should be told; the same for every try of the call, and for later calls until the session has a head. */
      notices: string[];
      /** `null` for the first try of the call. */
      earlier: EarlierTries | null;
    }
  /** The call has a result already: a try that crashed after finishing is not paid again. */
  | { kind: 'finished'; result: CallModelResult }
  /** The first message of `append` belongs to another turn. Nothing was written but the `MessageReceived` of the repeat. */
  | { kind: 'repeated'; first: ItemRecord };

/** How a try ended that has no result. */
export interface TryEnd {
  /** The provider was not asked, or refused: nothing was generated. */
  isRefused: boolean;
  evidence?: Evidence;
}

/** What the tries of a call before this one have shown, all together; of their content what the same model showed. */
export interface EarlierTries {
  count: number;
  /** Any of them had received content. */
  hasStreamed: boolean;
  /** The longest that one of them waited for its first content. */
  firstTokenMs: number | null;
  /** Where the newest of them was seen last. */
  phase: Phase | null;
  /** Input tokens that a try of this call takes, estimated by the session's last completed call. */
  estimatedInputTokens: number | null;
}

export interface FinishTry extends TryRef {
  turnId: string;
  /** Entry that the assistant entry follows: `base` of the begun try. */
  parentId: string | null;
  content: AssistantPart[];
  model: string;
  usage: Usage;
  outputs: NewOutput[];
  /** Its `head` is `assistantEntryId(callId)`. */
  result: AnsweredResult;
  /** When the call ends its turn: what `record` would be given, written in the same transaction. */
  settles?: RecordInput;
}

export type AnsweredResult = Exclude<CallModelResult, { kind: 'repeated' }>;

/** The entry that a finished call adds: the session's next head. */
export function assistantEntryId(callId: string): string {
  return `${callId}.out`;
}

export interface BeginTool {
  sessionId: string;
  turnId: string;
  callId: string;
  toolCallId: string;
  name: string;
  attempt: number;
  idempotent: boolean;
  /** The call's arguments as text, for the `ToolStarted` output. */
  input: string;
  workerInstance: string;
  taskToken: string;
}

export type BegunTool =
  | { kind: 'run' }
  | { kind: 'finished'; result: ToolResult }
  /** An earlier run began and never ended, and the tool may not be repeated. */
  | { kind: 'unknown' };

export interface OpenTask {
  kind: 'callModel' | 'callTool';
  sessionId: string;
  /** Id of the model call or of the tool call. */
  id: string;
  attempt: number;
  workerInstance: string;
  taskToken: string;
  /** Workers that the call has lost before. */
  losses: number;
}

/** A call that a process runs now. */
export type LiveCall =
  | ({ kind: 'callModel' } & TryRef)
  | { kind: 'callTool'; sessionId: string; turnId: string; toolCallId: string; attempt: number; taskToken: string };

export interface FinishTool {
  sessionId: string;
  turnId: string;
  toolCallId: string;
  name: string;
  result: ToolResult;
}

/** One supervisor and the worker that runs under it. */
export interface Lease extends NewLease {
  /** `null` between two workers. */
  worker: LeasedWorker | null;
  /** Counts up while the supervisor lives. */
  renewals: number;
  /** The supervisor that took it over, or `null` while it is held. */
  takenBy: string | null;
}

export interface NewLease {
  /** Derived from nothing: one life of one supervisor. */
  leaseId: string;
  /** Names the supervisor's process as a worker instance names a worker's. */
  supervisor: string;
  namespace: string;
  taskQueue: string;
}

export interface LeasedWorker {
  instance: string;
  /** What the server calls it; empty until the server lists it. */
  instanceKeys: string[];
  /** Where the server keeps tasks of the sessions that it has in memory; `null` until seen. */
  stickyQueue: string | null;
}

export interface Renewal {
  leaseId: string;
  /** The counter's new value: above every one before. */
  renewals: number;
  worker: LeasedWorker | null;
}

export interface TakeOver {
  leaseId: string;
  /** The counter's value that stood still. */
  renewals: number;
  by: string;
}

/** Milliseconds since the epoch by the clock of the caller; those of several machines agree within a few seconds. */
export interface ClaimDeliveries {
  channel: string;
  nowMs: number;
  holdMs: number;
  limit: number;
}

export interface EndDelivery {
  id: string;
  /** Number of the attempt, as claimed. */
  attempt: number;
  end:
    | { kind: 'delivered' }
    /** `dueMs` is when to try again. */
    | { kind: 'again'; problem: string; dueMs: number }
    /** It is a dead letter, which its session's journal tells. */
    | { kind: 'dead'; problem: string };
}

export interface DeliveryQuery {
  limit: number;
  channel?: string;
  /** Default: all. */
  states?: readonly DeliveryState[];
}

/** `dead` is a dead letter: it is not tried any more unless somebody asks for it. */
export type DeliveryState = 'pending' | 'delivered' | 'dead' | 'dropped';

export interface StoredDelivery extends DeliverInput {
  /** The receiver's key for telling repeats: derived from session, subject and part. */
  id: string;
  state: DeliveryState;
  attempts: number;
  sinceMs: number;
  dueMs: number;
  problem: string | null;
  updatedAtMs: number;
}

/** All sessions that use one account of a provider wait together. Times are milliseconds, by the clock of the worker that closed it. */
export interface AccountGate {
  untilMs: number;
  /** Length of the wait that ends then: holds on any clock. */
  waitMs: number;
  /** Busy answers in a row, those that came while it was closed apart. */
  failures: number;
}

export interface ClosingGate {
  /** Names provider, address and key, and gives none of them away. */
  account: string;
  nowMs: number;
  /** As the provider named it; `null` doubles the wait with each failure. */
  retryAfterMs: number | null;
}

/** What the model is told; `ok` false marks an error result. */
export interface ToolResult {
  ok: boolean;
  /** Text, or JSON as text. */
  output: string;
}

/** One immutable step of a transcript. The id of the newest names the whole chain. */
export interface Entry {
  id: string;
  parentId: string | null;
  content: EntryContent;
}

export type EntryContent =
  | { kind: 'user'; messageId: string; parts: AppendedPart[] }
  /** `isInterrupted`: what a stopped call had said so far; it may have no parts. */
  | { kind: 'assistant'; model: string; parts: AssistantPart[]; isInterrupted?: true }
  | { kind: 'tool'; toolCallId: string; name: string; result: ToolResult };

/** Parts as appended: texts inline or by reference, binaries by reference. */
export type AppendedPart = Extract<AppendItem, { kind: 'message' }>['parts'][number];

/** What a model produced, kept so that it can be sent back to its provider unchanged. */
export type AssistantPart =
  | { kind: 'text'; text: string; providerOptions?: Record<string, unknown> }
  | { kind: 'reasoning'; text: string; providerOptions?: Record<string, unknown> }
  | {
      kind: 'toolCall';
      toolCallId: string;
      /** The provider's own id of the call, which its later requests must repeat. */
      providerCallId: string;
      name: string;
      /** Arguments as the provider sent them: JSON text, or text that is not JSON when the model got it wrong. */
      input: string;
      providerOptions?: Record<string, unknown>;
    };

export interface OutputQuery {
  sessionId: string;
  afterSeq: number;
  limit: number;
  kinds?: readonly OutputKind[];
}

export interface StoredOutcome extends Partial<Discards> {
  sessionId: string;
  turnId: string;
  outcome: OutcomeKind;
  reason: string | null;
  source: TurnSource;
  silent: boolean;
  /** Texts of the turn's completed calls that said something, in order. */
  segments: string[];
  /** The segments joined with a blank line between them. */
  text: string;
  /** What the call in flight had shown when the turn was stopped. */
  partial: string | null;
  usage: Usage;
  startedAtMs: number;
  endedAtMs: number;
  /** With `timeout`. */
  stall?: Stall;
}

export interface SessionRow {
  sessionId: string;
  tenant: string;
  name: string;
  agent: string;
  status: SessionStatus;
  queued: number;
  turns: number;
  lastOutcome: OutcomeKind | null;
  createdAtMs: number;
  updatedAtMs: number;
}

export class StoreUnavailableError extends Error {
  override name = 'StoreUnavailableError';
}

/** The try is not the newest of its call, or its call, turn or chain has ended: stop, and write nothing more. */
export class StaleTryError extends Error {
  override name = 'StaleTryError';
}

/** The call was tried before, and its session drains: it is not tried again. */
export class SessionDrainingError extends Error {
  override name = 'SessionDrainingError';
}

/** The session was closed, for good: what started its workflow again does not open it. */
export class SessionClosedError extends Error {
  override name = 'SessionClosedError';
}

export class TranscriptMissingError extends Error {
  override name = 'TranscriptMissingError';
  constructor(
    readonly head: string,
    message: string,
  ) {
    super(message);
  }
}

/** A refusal to open a store, with what to do about it. */
export class StoreOpenError extends Error {
  override name = 'StoreOpenError';
}
