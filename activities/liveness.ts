import type { Phase, PhaseBudgets, Progress } from '../protocol/liveness.js';

export interface LivenessOptions {
  budgetsMs: PhaseBudgets;
  /** Sends a heartbeat to the server; called at most once per beat gap. May not throw. */
  beat(progress: Progress): void;
  /** Told once per silence, at 60 % of the phase's budget. May not throw. */
  warn(stall: { phase: Phase; silentMs: number; budgetMs: number }): void;
}

const WARN_AT = 0.6;

/**
 * Decides when a model try may beat, so that Temporal's heartbeat timeout T becomes the stall detector of every phase.
 *
 * I1 In `streaming` a beat follows only real progress; silence there ends T after the last beat.
 * I2 In any other phase the try vouches for itself: the last beat goes out exactly `budget - T` after the last progress.
 * I3 Between two beats lies at least the gap; a beat that comes too early is sent when the gap is over. The server counts the
 *    start of a try as a beat, so a try shorter than the gap sends none.
 * I4 Marks without content (an empty delta, the start of another empty block) move nothing.
 */
export class Liveness {
  private phase: Phase = 'setup';
  private progressAtMs = Date.now();
  private beatAtMs = Date.now();
  private charsReceived = 0;
  private isWarned = false;
  private pending: NodeJS.Timeout | null = null;
  private readonly ticker: NodeJS.Timeout;
  private readonly gapMs: number;
  private readonly timeoutMs: number;

  constructor(private readonly options: LivenessOptions) {
    this.timeoutMs = options.budgetsMs.streaming;
    this.gapMs = Math.max(1_000, this.timeoutMs / 20);
    this.ticker = setInterval(() => this.tick(), Math.min(1_000, this.timeoutMs / 10));
    this.ticker.unref();
    this.vouch();
  }

  get current(): Phase {
    return this.phase;
  }

  get progress(): Progress {
    return { phase: this.phase, atMs: this.progressAtMs, charsReceived: this.charsReceived };
  }

  /** The try's own work moved on, or content arrived: silence starts anew. */
  enter(phase: Phase): void {
    this.phase = phase;
    this.moved();
  }

  /** The stream is in another phase, but nothing was received: silence goes on. */
  switchTo(phase: Phase): void {
    if (phase === this.phase) return;
    this.phase = phase;
    this.vouch();
  }

  /** Content of so many characters was received and decoded. */
  received(chars: number): void {
    if (chars === 0) return;
    this.charsReceived += chars;
    this.moved();
  }

  stop(): void {
    clearInterval(this.ticker);
    if (this.pending) clearTimeout(this.pending);
    this.pending = null;
  }

  private moved(): void {
    this.progressAtMs = Date.now();
    this.isWarned = false;
    if (this.phase === 'streaming') this.scheduleBeat(this.beatAtMs + this.gapMs);
    else this.vouch();
  }

  private vouch(): void {
    if (this.phase === 'streaming') return;
    const lastMs = this.progressAtMs + this.options.budgetsMs[this.phase] - this.timeoutMs;
    const nextMs = Math.min(this.beatAtMs + this.gapMs, lastMs);
    if (nextMs > this.beatAtMs) this.scheduleBeat(nextMs);
  }

  private scheduleBeat(atMs: number): void {
    if (this.pending) clearTimeout(this.pending);
    this.pending = setTimeout(() => this.send(), Math.max(0, atMs - Date.now()));
    this.pending.unref();
  }

  private send(): void {
    this.pending = null;
    if (this.phase === 'streaming' && this.progressAtMs <= this.beatAtMs) return;
    this.beatAtMs = Date.now();
    this.options.beat(this.progress);
    this.vouch();
  }

  private tick(): void {
    const silentMs = Date.now() - this.progressAtMs;
    const budgetMs = this.options.budgetsMs[this.phase];
    if (this.isWarned || silentMs < budgetMs * WARN_AT) return;
    this.isWarned = true;
    this.options.warn({ phase: this.phase, silentMs, budgetMs });
  }
}
