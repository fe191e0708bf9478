/** Argument of the `session` workflow. Every field may be missing: plain Temporal tools may start a session too. */
export interface SessionInput<State = unknown> {
  agent?: string;
  /** The state that the run before this one carried over. */
  state?: State;
}

/** Argument and answer of the `resume` update. */
export interface ResumeInput {
  /** Go on from the newest transcript that the store has, instead of the one the session names. */
  fromStore?: boolean;
}
export type ResumeAnswer = 'resumed' | 'not_suspended';

export const DEFAULT_AGENT = 'demo';
