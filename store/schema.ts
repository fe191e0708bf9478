import type { Kysely, Transaction } from 'kysely';
import type { SessionStatus } from '../protocol/calls.js';
import type { Fate, OutcomeKind } from '../protocol/fates.js';
import type { Phase } from '../protocol/liveness.js';
import type { DeliveryState } from './session-store.js';

/**
 * The tables as the query layer sees them. Portable types only: text, whole numbers, bytes; truth values are 0 and 1; JSON is text.
 * What each table is for stands with its migration.
 */
export interface Schema {
  sessions: SessionsTable;
  ended_chains: EndedChainsTable;
  drains: DrainsTable;
  entries: EntriesTable;
  outputs: OutputsTable;
  calls: CallsTable;
  tries: TriesTable;
  items: ItemsTable;
  tool_runs: ToolRunsTable;
  outcomes: OutcomesTable;
  blobs: BlobsTable;
  leases: LeasesTable;
  account_gates: AccountGatesTable;
  deliveries: DeliveriesTable;
}

export type Db = Kysely<Schema>;
/** For functions that are only right inside a transaction. */
export type Tx = Transaction<Schema>;

type Flag = 0 | 1;

export interface SessionsTable {
  session_id: string;
  tenant: string;
  name: string;
  agent: string;
  chain: string;
  /** Where the transcript stood when the chain began: what a `null` head means in it. */
  chain_base: string | null;
  head: string | null;
  status: SessionStatus;
  queued: number;
  turns: number;
  last_seq: number;
  last_outcome: OutcomeKind | null;
  /** Of the turn with the last outcome: by the session's clock, which puts its turns in order. */
  last_turn_started_at_ms: number | null;
  /** Of the last completed call: what a discarded try is estimated by. */
  last_input_tokens: number | null;
  created_at_ms: number;
  updated_at_ms: number;
}

export interface EndedChainsTable {
  session_id: string;
  chain: string;
}

/** What a chain said last of whether its session drains. A chain that never said so has no row. */
export interface DrainsTable {
  session_id: string;
  chain: string;
  change: number;
  draining: Flag;
}

export interface EntriesTable {
  session_id: string;
  entry_id: string;
  parent_id: string | null;
  content: string;
}

export interface OutputsTable {
  session_id: string;
  seq: number;
  key: string;
  kind: string;
  turn_id: string | null;
  at_ms: number;
  body: string;
}

export interface CallsTable {
  session_id: string;
  call_id: string;
  turn_id: string;
  newest_dispatch: number;
  newest_attempt: number;
  /** Tells whether a call that comes under this id again is this call. */
  input_hash: string;
  /** Entry that the assistant's answer follows. */
  base: string | null;
  result: string | null;
  /** Nothing more may be written: the call has a result, or its turn or chain has ended. */
  closed: Flag;
}

export interface TriesTable {
  session_id: string;
  call_id: string;
  dispatch: number;
  attempt: number;
  worker_instance: string;
  task_token: string;
  started_at_ms: number;
  ended_at_ms: number | null;
  streamed: Flag;
  /** The session's newest output when the try began: what it streamed comes after. */
  began_at_seq: number;
  phase: Phase | null;
  chars_received: number;
  first_token_ms: number | null;
  /** The session's `last_input_tokens` when the try began. */
  estimated_input_tokens: number | null;
  /** The provider was not asked, or refused: nothing was generated. */
  refused: Flag;
  /** Its worker was lost while it ran. */
  lost: Flag;
  /** Place of its model in the agent's chain. */
  link: number;
}

export interface ItemsTable {
  session_id: string;
  item_id: string;
  turn_id: string | null;
  fate: Fate | 'pending';
  content_hash: string;
}

export interface ToolRunsTable {
  session_id: string;
  tool_call_id: string;
  turn_id: string;
  call_id: string;
  name: string;
  attempt: number;
  worker_instance: string;
  task_token: string;
  started_at_ms: number;
  ended_at_ms: number | null;
  result: string | null;
  /** Workers lost while it ran, and the task that the last of them had. */
  losses: number;
  lost_token: string | null;
}

export interface OutcomesTable {
  session_id: string;
  turn_id: string;
  outcome: OutcomeKind;
  reason: string | null;
  source: string;
  silent: Flag;
  segments: string;
  partial: string | null;
  usage: string;
  /** JSON of what was discarded, `null` when nothing was. */
  discards: string | null;
  /** JSON of how a turn's last call fell silent. */
  stall: string | null;
  started_at_ms: number;
  ended_at_ms: number;
}

export interface BlobsTable {
  ref: string;
  media_type: string;
  bytes: Uint8Array;
  created_at_ms: number;
}

export interface LeasesTable {
  lease_id: string;
  supervisor: string;
  namespace: string;
  task_queue: string;
  /** JSON of the worker that runs under it. */
  worker: string | null;
  renewals: number;
  state: 'held' | 'taken';
  taken_by: string | null;
  created_at_ms: number;
}

export interface AccountGatesTable {
  account: string;
  until_ms: number;
  wait_ms: number;
  failures: number;
}

export interface DeliveriesTable {
  id: string;
  channel: string;
  session_id: string;
  subject: string;
  part: 'outcome' | 'notice';
  /** JSON of what to tell, with part `notice`. */
  notice: string | null;
  state: DeliveryState;
  attempts: number;
  /** Since when it is tried: anew after a retry by hand. */
  since_ms: number;
  /** While it is pending: when it may be tried next. */
  due_ms: number;
  /** Why the newest attempt did not deliver it. */
  problem: string | null;
  updated_at_ms: number;
}

/** Reads a JSON column. The cast is safe as far as only this layer writes these columns; migrations keep older rows readable. */
export function fromColumn<T>(json: string): T {
  return JSON.parse(json) as T;
}
