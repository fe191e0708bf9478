/**
 * Channels: where a session's outcomes go besides its journal. They are declared in the configuration; sessions, messages, wakes and
 * reminders name them. A **delivery** is one outward thing: what it tells of, its subject, and which part of that.
 */
export interface Delivery {
  channel: string;
  /** Id of the turn whose outcome it is, or key of the notice. */
  subject: string;
  part: 'outcome' | 'notice';
  /** With part `notice`. */
  notice?: { code: string; message: string };
}

/** Input of the `deliver` activity, which hands a delivery over to its channel. Repeating it hands over the same one. */
export interface DeliverInput extends Delivery {
  sessionId: string;
}

/** A delivery that its channel never had. It is kept among the dead letters. */
export interface Undelivered extends Delivery {
  reason: string;
}

const CHANNEL_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;
export const CHANNEL_NAME_RULE = 'must be 1 to 64 letters, digits, "_" or "-", beginning with a letter or digit';

export function isChannelName(value: unknown): value is string {
  return typeof value === 'string' && CHANNEL_NAME.test(value);
}
