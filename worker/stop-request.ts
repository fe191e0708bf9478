/** The wish to end: a signal, or the end of the owner. A second one hurries. */
export class StopRequest {
  /** Settles with `undefined` when asked to stop. */
  readonly requested: Promise<undefined>;
  readonly #controller = new AbortController();
  #hurry: () => void = () => undefined;

  /** With an owner, the terminal's signals are the owner's business: only its SIGTERM and its end count. */
  constructor(isOwned: boolean) {
    const ask = () => this.#ask();
    const terminal = isOwned ? () => undefined : ask;
    process.on('SIGINT', terminal);
    process.on('SIGHUP', terminal);
    process.on('SIGTERM', ask);
    if (isOwned) process.once('disconnect', ask);
    // The owner may have gone while this process was loading, too early for anybody to hear of it.
    if (isOwned && !process.connected) this.#controller.abort();
    this.requested = new Promise((resolve) => {
      if (this.signal.aborted) resolve(undefined);
      this.signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  onHurry(hurry: () => void): void {
    this.#hurry = hurry;
  }

  #ask(): void {
    if (this.signal.aborted) this.#hurry();
    else this.#controller.abort();
  }
}
