import { type LiveCall, type SessionStore, StaleTryError } from '../store/session-store.js';

/** Milliseconds between two looks at the store. One query serves all calls of the process. */
const LOOK_MS = 1_000;

type Watched = LiveCall & { end(reason: StaleTryError): void };

/**
 * Ends calls that nobody waits for any more. Temporal tells an activity that it is cancelled only when that beats, and a silent call
 * does not: the store knows sooner, and knows of zombies too, which the server does not cancel at all.
 *
 * C1 Looks only while something runs; a store that does not answer is asked again at the next look.
 * C2 A call is told once, and never after it has left.
 */
export class ClosedCallWatch {
  private readonly live = new Set<Watched>();
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly store: Pick<SessionStore, 'findClosed'>) {}

  /** Watches a call that has begun. `end` may not throw. Returns how to leave. */
  enter(call: LiveCall, end: (reason: StaleTryError) => void): () => void {
    const watched = { ...call, end };
    this.live.add(watched);
    this.schedule();
    return () => void this.live.delete(watched);
  }

  private schedule(): void {
    if (this.live.size > 0) this.timer ??= setTimeout(() => void this.look(), LOOK_MS).unref();
  }

  private async look(): Promise<void> {
    const closed = await this.store.findClosed([...this.live]).catch(() => []);
    for (const call of closed) {
      if (this.live.delete(call)) call.end(new StaleTryError('nobody waits for this call any more'));
    }
    this.timer = null;
    this.schedule();
  }
}
