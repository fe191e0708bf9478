import type { SessionStore } from '../store/session-store.js';

/** Milliseconds between two looks at the store; one look serves every reader of this process. */
const LOOK_MS = 15;
/** Sessions asked about in one query. */
const SESSIONS_PER_LOOK = 500;

interface Waiter {
  afterSeq: number;
  settle(error?: unknown): void;
}

/** Tells readers when a session's journal has grown. Looks only while somebody waits. */
export class JournalWatch {
  private readonly waiters = new Map<string, Set<Waiter>>();
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly store: Pick<SessionStore, 'lastSeqs'>) {}

  /** Resolves when the session has outputs above `afterSeq`, or when the signal aborts. */
  grown(sessionId: string, afterSeq: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return resolve();
      const waiting = this.waiters.get(sessionId) ?? new Set<Waiter>();
      this.waiters.set(sessionId, waiting);
      const waiter: Waiter = {
        afterSeq,
        settle: (error) => {
          waiting.delete(waiter);
          if (waiting.size === 0 && this.waiters.get(sessionId) === waiting) this.waiters.delete(sessionId);
          signal?.removeEventListener('abort', onAbort);
          if (error === undefined) resolve();
          else reject(error);
        },
      };
      const onAbort = () => waiter.settle();
      signal?.addEventListener('abort', onAbort, { once: true });
      waiting.add(waiter);
      this.schedule();
    });
  }

  /** How many readers wait now. */
  get waiting(): number {
    return this.all().length;
  }

  private schedule(): void {
    if (this.waiters.size > 0) this.timer ??= setTimeout(() => void this.look(), LOOK_MS);
  }

  private async look(): Promise<void> {
    const sessionIds = [...this.waiters.keys()];
    try {
      for (let from = 0; from < sessionIds.length; from += SESSIONS_PER_LOOK) {
        const seqs = await this.store.lastSeqs(sessionIds.slice(from, from + SESSIONS_PER_LOOK));
        for (const [sessionId, seq] of seqs) this.tell(sessionId, seq);
      }
    } catch (error) {
      for (const waiter of this.all()) waiter.settle(error);
    }
    this.timer = null;
    this.schedule();
  }

  private tell(sessionId: string, seq: number): void {
    for (const waiter of [...(this.waiters.get(sessionId) ?? [])]) if (seq > waiter.afterSeq) waiter.settle();
  }

  private all(): Waiter[] {
    return [...this.waiters.values()].flatMap((waiting) => [...waiting]);
  }
}
