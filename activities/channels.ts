import type { StoredDelivery } from '../store/session-store.js';

/** How one attempt ended. What was `refused` is not tried again. */
export type Attempt = { kind: 'delivered' } | { kind: 'failed' | 'refused'; problem: string };

/** The port of a channel: how a delivery leaves the house. Limits are in milliseconds. */
export interface Channel {
  /** Makes one attempt; repeats carry the delivery's id. Never throws, but for the store. Ends early when the signal aborts. */
  attempt(delivery: StoredDelivery, signal: AbortSignal): Promise<Attempt>;
  /** The longest that one attempt takes. */
  timeoutMs: number;
  /** Between the first two attempts. */
  retryMs: number;
  /** From the first attempt to the dead letter. */
  giveUpAfterMs: number;
}
