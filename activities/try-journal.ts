import type { TryRef } from '../protocol/calls.js';
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
 */
export class TryJournal {
  private waiting: OutputBody[] = [];
  private written = 0;
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> = Promise.resolve();
  private hasFailed = false;

  constructor(
    private readonly store: Pick<SessionStore, 'appendTryOutputs'>,
    private readonly ref: TryRef,
    private readonly onFailure: (error: unknown) => void,
  ) {}

  /** Adds an output; it is written within the batch time. */
  add(body: OutputBody): void {
    const last = this.waiting.at(-1);
    if (last?.kind === 'TextDelta' && body.kind === 'TextDelta') last.text += body.text;
    else if (last?.kind === 'ReasoningDelta' && body.kind === 'ReasoningDelta') last.text += body.text;
    else this.waiting.push({ ...body });
    this.timer ??= setTimeout(() => void this.flush(), BATCH_MS);
  }

  /** Resolves when everything added so far is written, or when writing has failed. */
  flush(): Promise<void> {
    this.writing = this.writing.then(() => this.write());
    return this.writing;
  }

  /** Stops writing and hands over what is not written, for the transaction that ends the call. */
  async close(): Promise<NewOutput[]> {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    await this.writing;
    return this.take().filter((output) => output.kind !== 'TextDelta' && output.kind !== 'ReasoningDelta');
  }

  private async write(): Promise<void> {
    if (this.timer) clearTimeout(this.timer);
    this.timer = null;
    if (this.hasFailed || this.waiting.length === 0) return;
    try {
      await this.store.appendTryOutputs(this.ref, this.take());
    } catch (error) {
      this.hasFailed = true;
      this.onFailure(error);
    }
  }

  private take(): NewOutput[] {
    const { callId, dispatch, attempt } = this.ref;
    const outputs = this.waiting.map((body) => ({ ...body, key: `${callId}/${dispatch}.${attempt}/${++this.written}` }));
    this.waiting = [];
    return outputs;
  }
}
