import type { DeliverInput } from '../protocol/channels.js';
import type { SessionStore } from '../store/session-store.js';

/** The outcome that a session speaks of is not here: perhaps this worker has another store. */
class OutcomeMissingError extends Error {
  override name = 'OutcomeMissingError';
}

/**
 * The `deliver` activity: takes a delivery over for its channel and is done, whatever the receiver does later. `onAccepted` may not throw.
 * Every failure is tried again, on another worker of the channel where there is one.
 */
export function createDeliver(store: SessionStore, onAccepted: () => void) {
  return async function deliver(input: DeliverInput): Promise<void> {
    const { sessionId, subject, part } = input;
    if (part === 'outcome' && (await store.findOutcome(sessionId, subject)) === null) {
      throw new OutcomeMissingError(`the store does not have the outcome of turn ${subject}`);
    }
    await store.acceptDelivery(input);
    onAccepted();
  };
}
