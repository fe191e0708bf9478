import type { AccountGate, SessionStore } from '../store/session-store.js';
import { AccountBusyError } from './activity-errors.js';
import { busyAccount } from './classify-error.js';

/** Milliseconds that a process believes what it read: a gate costs a busy process one query a second, and a turn no wait. */
const BELIEVED_MS = 1_000;

interface Seen {
  gate: AccountGate | null;
  /** By the process's own running time. */
  readAtMs: number;
  firstSeenMs: number;
}

/**
 * Lets a busy account of a provider be found out once, not by every session that uses it.
 *
 * G1 Before the provider is asked the account's gate is open; otherwise nothing is asked, and the session waits for it.
 * G2 A busy answer closes the gate for everybody: for this process at once, for others within `BELIEVED_MS`.
 * G3 Workers' clocks are assumed to agree within a second. One that is behind waits at most the gate's length from when it first saw
 *    it; one that is ahead asks too early, and the answer closes the gate again.
 * G4 The gate never fails a call that would have succeeded: what it only notes is noted on the side.
 *
 * A model object of a user's own has no account: nobody knows its key, and one that is healthy must not wait for another.
 */
export class AccountGates {
  readonly #seen = new Map<string, Seen>();

  constructor(private readonly store: Pick<SessionStore, 'findGate' | 'closeGate' | 'openGate'>) {}

  /** Asks, unless the account waits. @throws AccountBusyError when it does, or when it answers that it is busy. */
  async pass<Result>(account: string | null, ask: () => Promise<Result>): Promise<Result> {
    if (account === null) return ask();
    await this.#requireOpen(account);
    try {
      const result = await ask();
      this.#noteSuccess(account);
      return result;
    } catch (error) {
      throw await this.#noteFailure(account, error);
    }
  }

  async #requireOpen(account: string): Promise<void> {
    const known = this.#seen.get(account);
    const isFresh = known !== undefined && performance.now() - known.readAtMs < BELIEVED_MS;
    const leftMs = leftOf(isFresh ? known : this.#see(account, await this.store.findGate(account)));
    if (leftMs <= 0) return;
    const until = new Date(Date.now() + leftMs).toISOString();
    throw new AccountBusyError(`the account with the provider is waiting until ${until}, so it was not asked`, leftMs);
  }

  #see(account: string, gate: AccountGate | null): Seen {
    const known = this.#seen.get(account);
    const nowMs = performance.now();
    const isSame = known?.gate?.untilMs === gate?.untilMs;
    const seen = { gate, readAtMs: nowMs, firstSeenMs: known && isSame ? known.firstSeenMs : nowMs };
    this.#seen.set(account, seen);
    return seen;
  }

  /** A write only when there is something to take back. */
  #noteSuccess(account: string): void {
    if (!this.#seen.get(account)?.gate) return;
    this.#seen.delete(account);
    void this.store.openGate({ account, nowMs: Date.now() }).catch(() => undefined);
  }

  async #noteFailure(account: string, error: unknown): Promise<unknown> {
    const busy = busyAccount(error);
    if (!busy) return error;
    const { message, retryAfterMs = null } = busy;
    const gate = await this.store.closeGate({ account, nowMs: Date.now(), retryAfterMs }).catch(() => null);
    if (!gate) return error;
    const leftMs = leftOf(this.#see(account, gate));
    return new AccountBusyError(message, retryAfterMs ?? leftMs);
  }
}

/** Milliseconds until the gate opens; not above 0 when it is open. */
function leftOf({ gate, firstSeenMs }: Seen): number {
  if (!gate) return 0;
  return Math.ceil(Math.min(gate.untilMs - Date.now(), firstSeenMs + gate.waitMs - performance.now()));
}
