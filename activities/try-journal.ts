import type { TryRef } from '../protocol/calls.js';
import type { Evidence } from '../protocol/liveness.js';
import type { NewOutput, OutputBody } from '../protocol/outputs.js';
import type { SessionStore } from '../store/session-store.js';

/** Milliseconds that deltas are gathered before they are written. */
const BATCH_MS = 80;

/**
 * What one try writes to the outputs journal while it streams.
 *
 * I1 Outputs are written in the order they were added, one write at a time.
 * I2 Neighbouring deltas of one kind become one output.
 * I3 After the first failed write nothing more is written, and `onFailure` is told once: the try must end.
 * I4 Nothing is written before `open`; what a try has shown of itself goes along with each write.
 * I5 After `close` nothing is added: the call's last transaction is under way, and what came after it would be refused.
 */
export class TryJournal {
  private waiting: (OutputBody & { key?: string })[] = [];
  private written = 0;
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> = Promise.resolve();
  private hasFailed = false;
  private isClosed = false;
  private isOpen = false;
  /** What the store knows of the try. */
  private told: Evidence | null = null;

  constructor(
    private readonly store: Pick<SessionStore, 'appendTryOutputs'>,
    private readonly ref: TryRef,
    private readonly evidence: () => Evidence,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** The store knows the try now: what was added before is written from here on. */
  open(): void {
    this.isOpen = true;
    this.told = this.evidence();
  }

  /** Adds an output; it is written within the batch time. A key of its own makes it one output whichever tries add it. */
  add(body: OutputBody, key?: string): void {
    if (this.isClosed) return;
    const last = this.waiting.at(-1);
    if (last?.kind === 'TextDelta' && body.kind === 'TextDelta') last.text += body.text;
    else if (last?.kind === 'ReasoningDelta' && body.kind === 'ReasoningDelta') last.text += body.text;
    else this.waiting.push({ ...body, ...(key === undefined ? {} : { key }) });
    this.timer ??= setTimeout(() => void this.flush(), BATCH_MS);
  }

  /** Resolves when everything added and shown so far is written, or when writing has failed. */
  flush(): Promise<void> {
    this.writing = this.writing.then(() => this.write());
    return this.writing;
  }

  /** Stops writing and hands over what is not written, for the transaction that ends the call. */
  async close(): Promise<NewOutput[]> {
    this.isClosed = true;
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    await this.writing;
    return this.take().filter((output) => output.kind !== 'TextDelta' && output.kind !== 'ReasoningDelta');
  }

  private async write(): Promise<void> {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    if (this.hasFailed || !this.isOpen || !this.hasNews()) return;
    const evidence = this.evidence();
    this.told = evidence;
    try {
      await this.store.appendTryOutputs(this.ref, this.take(), evidence);
    } catch (error) {
      this.hasFailed = true;
      this.onFailure(error);
    }
  }

  private hasNews(): boolean {
    const { phase, charsReceived } = this.evidence();
    return this.waiting.length > 0 || phase !== this.told?.phase || charsReceived !== this.told.charsReceived;
  }

  private take(): NewOutput[] {
    const { callId, dispatch, attempt } = this.ref;
    const outputs = this.waiting.map((body) => ({
      key: `${callId}/${dispatch}.${attempt}/${++this.written}`,
      ...body,
    }));
    this.waiting = [];
    return outputs;
  }
}
