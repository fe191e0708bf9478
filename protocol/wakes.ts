import type { Reference } from './messages.js';

/**
 * Wakes: why a session runs without being written to. A wake lives in its session's state; each of its due times becomes an
 * **occurrence**: an item of its own, and a turn of its own.
 */

/** When a wake is due. Instants are milliseconds since the epoch. */
export type WakeSchedule =
  | { kind: 'once'; atMs: number }
  /** Once, so long after the session reads it. */
  | { kind: 'once'; inMs: number }
  /** At `startMs` (default: when the session reads it) plus whole multiples of `everyMs`, strictly after that moment. */
  | { kind: 'interval'; everyMs: number; startMs?: number }
  /**
   * Five fields: minute, hour, day of month, month, day of week, in the wake's zone. A day field and a weekday field together mean
   * either of them. With `*` for the hour it follows the real clock; with hours given, a local time that a clock change repeats
   * counts once, the first time, and one that it leaves out is due at the next minute that exists.
   */
  | { kind: 'cron'; expression: string };

/** What the model is told when the wake is due: text, or a stored text. */
export type WakePrompt = string | { ref: Reference };

/**
 * Where an occurrence runs. In a new session its prompt is a message with the id `<wakeId>:<dueMs>`; `{due}` in the name stands for the
 * due time as `20260131T090000Z`, and without it every occurrence goes to the one session of that name.
 */
export type WakeTarget = { kind: 'this' } | { kind: 'new'; name: string; agent?: string };

/** What becomes of a due time at which no worker ran: it runs late, once for however many were missed, or not at all. */
export type MissedFireRule = 'fire_once' | 'skip';

/**
 * Standing of whoever changes wakes; an agent is below a person. What a person removed by key, an agent cannot schedule again.
 */
export type WakeRank = 'agent' | 'person';

/** Who asks. A claim that can only lower one's standing: without it the asker is a person. */
export interface WakeActor {
  rank?: WakeRank;
  name?: string;
}

/** The terms of a wake that may be left out, and be changed later. */
export interface WakeTerms {
  /** IANA name. Default: the time zone that the worker is configured with, UTC if none. */
  zone?: string;
  /** From this instant on the wake is over, which is announced. */
  expiresAtMs?: number;
  missed?: MissedFireRule;
  /** An occurrence that could only be taken up later than this is skipped. Default: a minute with `skip`, without bound otherwise. */
  maxLatenessMs?: number;
  /** Spreads wakes of many sessions: this one fires a fixed part of this time after each due time. */
  jitterMs?: number;
  target?: WakeTarget;
  /** A due time is skipped when a message came within so many milliseconds before it, or is being answered. Default: never. */
  skipWhenActiveMs?: number;
  /** Where outcomes of its turns go besides the journal. Default: that of the turn in which an agent schedules it, else the session's. */
  channel?: string;
}

/** Argument of the `scheduleWake` update. */
export interface ScheduleWakeInput extends WakeTerms {
  schedule: WakeSchedule;
  prompt: WakePrompt;
  /** The caller's own name of the wake: scheduling the same key again replaces the wake, which keeps its id, and never adds one. */
  key?: string;
  by?: WakeActor;
}

/** Argument of the `editWake` update: what is not given stays as it is. */
export interface EditWakeInput extends WakeTerms {
  /** Id or key. */
  wake: string;
  schedule?: WakeSchedule;
  prompt?: WakePrompt;
  /** Puts a disabled wake to work again. Any other change does so too. */
  enable?: true;
  by?: WakeActor;
}

/** Argument of the `cancelWake` update. */
export interface CancelWakeInput {
  /** Id or key. */
  wake: string;
  /** Ends the turn that the wake runs now, as `aborted`. Not done for an agent: that turn would be its own. */
  stopRunning?: boolean;
  by?: WakeActor;
}

/** Answer of `scheduleWake` and `editWake`. Nothing has changed unless it is `scheduled`. */
export type WakeAnswer =
  | { kind: 'scheduled'; wake: WakeView; replaced: boolean }
  /** Each problem says what to do about it. */
  | { kind: 'refused'; problems: string[] }
  | { kind: 'not_found'; existing: string[] };

/** Answer of `cancelWake`. From this moment no due time of the wake starts a turn any more. */
export type CancelWakeAnswer =
  | {
      kind: 'cancelled';
      wakeId: string;
      /** There was a next due time. */
      future: boolean;
      /** An occurrence waited; its fate is `withdrawn`. */
      waiting: boolean;
      /** The turn of an occurrence that ran; `null` when none did. */
      running: string | null;
      /** That turn was stopped. Otherwise it goes on to its end. */
      stopped: boolean;
      /** A removed key that is not remembered any more, because only `LIMITS.removedWakeKeys` are. */
      forgottenKey?: string;
    }
  /** `existing` are the ids that could be cancelled. */
  | { kind: 'not_found'; existing: string[] }
  | { kind: 'refused'; problems: string[] };

/** Argument of the `close` update. */
export interface CloseInput {
  by?: WakeActor;
}

/** Answer of the `close` update. */
export interface CloseAnswer {
  kind: 'closed' | 'already_closed';
  /** Ids of the wakes that were removed. */
  wakes: string[];
  /** The turn that was ended. */
  turnId: string | null;
  /** Items that waited; their fate is `refused`. */
  items: string[];
}

/** A due time, and how it reads in the wake's zone. */
export interface Fire {
  dueMs: number;
  text: string;
}

/** A wake as the `state` query and the answers show it. */
export interface WakeView {
  id: string;
  key: string | null;
  kind: WakeSchedule['kind'];
  /** The schedule in words. */
  schedule: string;
  /** What the model is told, cut after `LIMITS.wakePromptShownChars`; the reference of a stored text. */
  prompt: string;
  zone: string;
  /** The next due times, at most three. */
  fires: Fire[];
  state: 'active' | 'disabled';
  /** Why it is disabled. */
  reason: string | null;
  target: WakeTarget;
  channel: string | null;
  missed: MissedFireRule;
  maxLatenessMs: number | null;
  jitterMs: number;
  expiresAtMs: number | null;
  skipWhenActiveMs: number | null;
  createdBy: string;
  createdAtMs: number;
  counts: WakeCounts;
  /** Item of an occurrence that waits or runs. */
  pending: string | null;
}

export interface WakeCounts {
  fired: number;
  /** Due times that started nothing: missed, too late, or met by an occurrence of the same wake that had not ended. */
  skipped: number;
  /** Turns in a row that failed, or timed out; five disable the wake. Stops, lost workers and a busy provider do not count. */
  failures: number;
}

/** Payload of the `reminder` signal: a wake that somebody outside keeps, and sends when it is due. */
export interface ReminderSignal {
  reminderId: string;
  /** When it was meant for. It is taken up when it arrives, earlier or later; the pair of id and due time is met once. */
  dueMs: number;
  prompt: WakePrompt;
  /** Who or what sent it, for the model to know. */
  origin?: string;
  /** When the session has other work: `defer` waits for its turn, `refuse` leaves nothing behind. */
  onBusy?: 'defer' | 'refuse';
  /** Where the outcome goes besides the journal; default: the session's channel. */
  channel?: string;
}

/** Input of the `computeFires` activity. */
export interface ComputeFiresInput {
  schedule: TimedSchedule;
  /** `null`: the worker's default. */
  zone: string | null;
  /** Only later due times are meant. */
  afterMs: number;
  count: number;
  /** Counts the due times after this one that are not after `afterMs`: they were missed. */
  missedSinceMs?: number;
  /** A channel that the wake names: one that is not declared is an error. */
  channel?: string;
}

/** A schedule that no longer depends on when it is read. */
export type TimedSchedule =
  | { kind: 'once'; atMs: number }
  | { kind: 'interval'; everyMs: number; startMs: number }
  | { kind: 'cron'; expression: string };

export type ComputedFires =
  | {
      kind: 'computed';
      zone: string;
      /** Ascending; empty when there is none within `LIMITS.wakeHorizonMs`. */
      fires: Fire[];
      missed: number;
    }
  | { kind: 'error'; problem: string };

/** Input of the `startSession` activity: an occurrence whose target is a new session. Repeating it sends the same message again. */
export interface StartSessionInput {
  sessionId: string;
  agent: string;
  message: {
    id: string;
    parts: ({ kind: 'text'; text: string } | { kind: 'text'; ref: Reference })[];
    channel?: string;
  };
}
