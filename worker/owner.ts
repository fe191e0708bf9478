export interface Order {
  /** `null`: nobody watches over this worker. */
  readonly leaseId: string | null;
}

/** The supervisor of this process, at the other end of its channel. A Ctrl-C in the terminal is its business, not this process's. */
export class Owner {
  readonly #gone = new AbortController();

  constructor() {
    process.on('SIGINT', () => undefined);
    process.once('disconnect', () => this.#gone.abort());
    process.on('message', (message: { kind?: unknown }) => {
      if (message.kind === 'ping') this.tell({ kind: 'pong' });
    });
  }

  get isGone(): boolean {
    return !process.connected;
  }

  onGone(act: () => void): void {
    this.#gone.signal.addEventListener('abort', act);
  }

  tell(message: object): void {
    // A channel that closes meanwhile is heard of as such.
    if (process.connected) process.send?.(message, () => undefined);
  }

  /** Answers what to serve under, or `null` when the owner went, or ended this process, before it had work for it. */
  async toldToServe(instance: string): Promise<Order | null> {
    const order = new Promise<Order | null>((resolve) => {
      process.on('message', (message: { kind?: unknown; leaseId?: string | null }) => {
        if (message.kind === 'serve') resolve({ leaseId: message.leaseId ?? null });
      });
      process.once('SIGTERM', () => resolve(null));
      this.onGone(() => resolve(null));
    });
    this.tell({ kind: 'prepared', instance });
    return this.isGone ? null : order;
  }
}
