/** Argument of the `session` workflow. Every field may be missing: plain Temporal tools may start a session too. */
export interface SessionInput<State = unknown> {
  agent?: string;
  /** Where outcomes go besides the journal, unless what opens the turn says otherwise. */
  channel?: string;
  /** The state that the run before this one carried over. */
  state?: State;
}

/** Argument and answer of the `resume` update. */
export interface ResumeInput {
  /** Go on from the newest transcript that the store has, instead of the one the session names. */
  fromStore?: boolean;
}
export type ResumeAnswer = 'resumed' | 'not_suspended';

/** Argument and answer of the `stop` update. */
export interface StopInput {
  /** The turn that is meant, so that a late stop cannot hit the next one. Default: the one that runs. */
  turnId?: string;
}
export type StopAnswer =
  /** `next` is the item that runs next; `null` when none waits, or while the session drains. */
  | { kind: 'stopped'; turnId: string; next: string | null }
  /** `ended` is the turn that was meant, when it was the last one to end. */
  | { kind: 'nothing_running'; ended?: string };

/** Answer of the `drain` update; `turnId` is the turn that still runs. */
export interface DrainAnswer {
  kind: 'draining' | 'already_draining';
  turnId: string | null;
  queued: number;
}
/** Answer of the `undrain` update; `next` is the item that runs next. */
export interface UndrainAnswer {
  kind: 'undrained' | 'not_draining';
  next: string | null;
}

/**
 * Answer of the `nudge` update: make sure that this session is awake. `started`: a turn runs because of it, what was due or suspended
 * included. `no_work`: nothing waits, or the session drains.
 */
export type NudgeAnswer = 'started' | 'already_running' | 'no_work';

export const DEFAULT_AGENT = 'demo';
