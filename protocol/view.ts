import type { OutcomeKind, TurnSource } from './fates.js';
import type { Phase, Profile } from './liveness.js';
import type { Usage } from './usage.js';
import type { SessionStatus } from './calls.js';
import type { WakeView } from './wakes.js';

/** Answer of the `state` query: the session's control state, without content. */
export interface SessionView {
  sessionId: string;
  agent: string;
  status: SessionStatus;
  suspended: { reason: string; message: string } | null;
  /** No turn begins, and a call that breaks is not tried again. */
  draining: boolean;
  turn: TurnView | null;
  /** What waits, in its order; ids are item ids, as in `itemIdOf`. */
  queue: { id: string; kind: TurnSource['kind'] }[];
  wakes: WakeView[];
  head: string | null;
  turns: number;
  usage: Usage;
  lastOutcome: { turnId: string; outcome: OutcomeKind; reason: string | null } | null;
  /** Where outcomes go besides the journal, unless what opens the turn says otherwise. */
  channel: string | null;
  /** Deliveries that no channel has taken yet. */
  deliveries: number;
  /** Outcomes that the store has not acknowledged yet. */
  unrecorded: number;
  /** Model of the last completed call. */
  model: string | null;
  profile: Profile;
  /** Milliseconds after which the end of a turn is reported at the latest when nothing moves any more; waits that are told come on top. */
  worstSilenceMs: number;
  /** Milliseconds that one attempt of a call may last in all, however lively. */
  totalLimitMs: number;
  /** Events of the current run's history. */
  historyEvents: number;
}

export interface TurnView {
  turnId: string;
  source: TurnSource;
  /** Why it runs, in words. */
  why: string;
  startedAtMs: number;
  step: string;
  items: string[];
  lastProgress: TurnProgress;
  budgets: Record<
    'resumes' | 'steps' | 'redispatches' | 'providerWaitMs' | 'capacityWaitMs',
    { used: number; limit: number }
  >;
}

/** What moved a turn last. */
export interface TurnProgress {
  /**
   * `content`: a model call that runs received some, as its worker told the server; `call_started`: it received none yet, and came as far
   * as its phase. The others are the session's own.
   */
  kind: 'turn_started' | 'call_completed' | 'tool_finished' | 'call_started' | 'content';
  /** Where the model call stood then; `null` for the session's own. */
  phase: Phase | null;
  /** Milliseconds since the epoch. */
  atMs: number;
}
