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
  | 'wait_timeout';

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
