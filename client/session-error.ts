import type { Disposition } from '../protocol/fates.js';

export type SessionErrorCode =
  /** The session id or the message is not well-formed. */
  | 'invalid_input'
  /** Temporal or the store does not answer. */
  | 'unreachable'
  /** No session of this id exists. */
  | 'unknown_session'
  /** Accepted, but no worker has read it within the deadline. */
  | 'not_read'
  /** The session refused the message; nothing of it is kept. */
  | 'refused'
  /** The id was used before with other content; the first message stands. */
  | 'id_reused'
  /** The session stands still until someone acts; the message is kept. */
  | 'suspended'
  /** The session's workflow ended while its answer was awaited. */
  | 'session_ended'
  /** The caller's own deadline passed. */
  | 'wait_timeout'
  /** The session was closed, for good. */
  | 'session_closed'
  /** The session has other work, and the reminder was not to wait; nothing of it is kept. */
  | 'session_busy'
  /** The reminder is accepted, and nothing was seen of it, or of its session, for as long as it is observed. */
  | 'delivery_not_observed'
  /** Nobody serves the channel that the answer goes to. */
  | 'channel_not_registered';

/** What went wrong for a client; branch on `code`, show `message`. */
export class SessionError extends Error {
  override name = 'SessionError';
  constructor(
    readonly code: SessionErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export function sessionClosed(sessionId: string): SessionError {
  return new SessionError(
    'session_closed',
    `the session "${sessionId}" was closed, for good; begin another one under a new name`,
  );
}

/** What a session says when it refuses an item. */
export function refusal({ reason, message }: Extract<Disposition, { kind: 'refused' }>): SessionError {
  const isOwnCode = reason === 'session_busy' || reason === 'session_closed';
  return new SessionError(isOwnCode ? reason : 'refused', message);
}
