/**
 * Types of the application failures that activities throw: the closed list that the core decides by.
 * Stored in history, so never renamed.
 */
export const FAILURE_TYPES = [
  /** The stream broke or ended without a proper finish. Retried by the server: counts as a resume. */
  'StreamBroken',
  /** Rate limit or overload; carries `retryAfterMs`. */
  'ModelBusy',
  /** The prompt does not fit the model's context. */
  'ContextOverflow',
  /** The provider, the model or the request is wrong; asking again would not help. */
  'ModelRejected',
  /** Our own store did not answer, or is full. */
  'StoreUnavailable',
  /** The worker is shutting down in order. */
  'WorkerDraining',
  /** The worker is gone; thrown on its behalf. */
  'WorkerLost',
  /** The session drains, and this was not the first try of its call. */
  'SessionDraining',
  /** The session was closed; what writes to it later does not open it again. */
  'SessionClosed',
  /** No configuration of this worker declares the channel that the turn's outcome is to go to. */
  'ChannelUndeclared',
  /** A newer try of the same call exists, or the call is closed. */
  'StaleTry',
  /** The session assumed another profile than this worker's; carries the profile. */
  'ProfileChanged',
  /** The store does not hold the transcript that the session's head names. */
  'TranscriptMissing',
  /** The agent is not defined on this worker. */
  'AgentUnavailable',
  /** A fault in Vigil or in agent code. */
  'Defect',
] as const;
export type FailureType = (typeof FAILURE_TYPES)[number];

/** A call that was running in so many workers when they were lost is under suspicion of having killed them. */
export const SUSPECT_LOSSES = 2;

/** First detail of every typed failure. */
export interface FailureDetails {
  /** Temporal's attempt that failed, so that the core knows how much of the resume budget is used. */
  attempt: number;
  phase: string | null;
  retryAfterMs?: number;
  /** With `WorkerLost`: workers that the call has lost, this one included. */
  losses?: number;
  /** The request's own content was refused: it must not be sent again with the next message. */
  inputAtFault?: boolean;
}
