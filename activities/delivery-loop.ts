import { setTimeout as sleep } from 'node:timers/promises';
import type { EndDelivery, SessionStore, StoredDelivery } from '../store/session-store.js';
import type { Channel } from './channels.js';

type DeliveryStore = Pick<SessionStore, 'claimDeliveries' | 'endDelivery'>;

export interface Delivering {
  readonly name: string;
  readonly channel: Channel;
  readonly store: DeliveryStore;
  /** Milliseconds between two looks for what is due. */
  readonly lookMs?: number;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

const LOOK_MS = 1_000;
const AT_ONCE = 8;
const LONGEST_WAIT_MS = 60 * 60_000;
/** More than an attempt takes beyond its own limit: nobody else makes it meanwhile. */
const HOLD_SLACK_MS = 5_000;

/**
 * Makes the deliveries of one channel, one after the other or a few at once, for as long as it runs.
 *
 * L1 A delivery is claimed before it is attempted and ended after, so a process that dies between leaves one that is made again, under the
 *    same id: at least once.
 * L2 What a receiver does holds up only its own channel. A store that does not answer is asked again.
 */
export class DeliveryLoop {
  readonly #delivering: Delivering;
  readonly #stopping = new AbortController();
  #waiting = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(delivering: Delivering) {
    this.#delivering = delivering;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** There is something new: looks at once. */
  nudge(): void {
    this.#waiting.abort();
  }

  /** Attempts that run are broken off, and made again by whoever serves the channel next. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.nudge();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { lookMs = LOOK_MS } = this.#delivering;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      this.#waiting = new AbortController();
      const made = await this.#round().catch(() => 0);
      if (made > 0) continue;
      await sleep(lookMs, undefined, { signal: this.#waiting.signal }).catch(() => undefined);
    }
  }

  async #round(): Promise<number> {
    const { name, channel, store, now = Date.now } = this.#delivering;
    const holdMs = channel.timeoutMs + HOLD_SLACK_MS;
    const claimed = await store.claimDeliveries({ channel: name, nowMs: now(), holdMs, limit: AT_ONCE });
    await Promise.allSettled(claimed.map((delivery) => this.#make(delivery)));
    return claimed.length;
  }

  async #make(delivery: StoredDelivery): Promise<void> {
    const { channel, store } = this.#delivering;
    const { signal } = this.#stopping;
    const attempt = await channel.attempt(delivery, signal);
    if (signal.aborted && attempt.kind !== 'delivered') return;
    const { id, attempts } = delivery;
    const end = attempt.kind === 'delivered' ? attempt : this.#endOf(delivery, attempt);
    await store.endDelivery({ id, attempt: attempts, end });
  }

  /** Waits grow with the time since the first attempt: each is about twice the one before. */
  #endOf({ sinceMs }: StoredDelivery, { kind, problem }: { kind: string; problem: string }): EndDelivery['end'] {
    const { channel, now = Date.now } = this.#delivering;
    const nowMs = now();
    const waitMs = Math.min(LONGEST_WAIT_MS, Math.max(channel.retryMs, nowMs - sinceMs));
    const dueMs = nowMs + waitMs;
    if (kind === 'refused' || dueMs > sinceMs + channel.giveUpAfterMs) return { kind: 'dead', problem };
    return { kind: 'again', problem, dueMs };
  }
}
