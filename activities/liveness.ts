import type { Evidence, Phase, PhaseBudgets, Progress } from '../protocol/liveness.js';

export interface LivenessOptions {
  budgetsMs: PhaseBudgets;
  /** Sends a heartbeat to the server; called at most once per beat gap. May not throw. */
  beat(progress: OwnProgress): void;
  /** Told once per silence, at 60 % of the phase's budget. May not throw. */
  warn(stall: { phase: Phase; silentMs: number; budgetMs: number }): void;
}

/** Whose it is, its try knows. */
type OwnProgress = Omit<Progress, 'try'>;

const WARN_AT = 0.6;

/**
 * Decides when a model try may beat, so that Temporal's heartbeat timeout T becomes the stall detector of every phase.
 *
 * I1 In `streaming` a beat follows only real progress; silence there ends T after the last beat.
 * I2 In any other phase the try vouches for itself: the last beat goes out at `budget - T` after the last progress, so that silence
 *    ends with the budget.
 * I3 Between two beats lies at least the gap; a beat that comes too early is sent when the gap is over. The server counts the
 *    start of a try as a beat, so a try shorter than the gap sends none.
 * I4 Marks without content (an empty delta, the start of another empty block) move nothing.
 * I5 Time is the process's own running time: a clock that is set forth or back moves nothing.
 * I6 A beat that a busy event loop held up is still sent, once: the silence was ours.
 */
export class Liveness {
  private phase: Phase = 'setup';
  private progressMs = performance.now();
  private progressAtMs = Date.now();
  private beatMs = performance.now();
  private tickMs = performance.now();
  private charsReceived = 0;
  private askedMs: number | null = null;
  private firstTokenMs: number | null = null;
  private prefillMs: number;
  private hasMovedSinceBeat = false;
  private isWarned = false;
  private isStopped = false;
  private pending: { dueMs: number; timer: NodeJS.Timeout } | null = null;
  private readonly ticker: NodeJS.Timeout;
  private readonly tickEveryMs: number;
  private readonly timeoutMs: number;
  /** At most a third of T, so that the beat before the last one may be left out (`dueMs`) without coming near T. */
  private readonly gapMs: number;

  constructor(private readonly options: LivenessOptions) {
    this.timeoutMs = options.budgetsMs.streaming;
    this.prefillMs = options.budgetsMs.prefill;
    this.gapMs = Math.min(Math.max(1_000, this.timeoutMs / 20), this.timeoutMs / 3);
    this.tickEveryMs = Math.min(1_000, this.timeoutMs / 10);
    this.ticker = setInterval(() => this.tick(), this.tickEveryMs);
    this.ticker.unref();
    this.arm();
  }

  get current(): Phase {
    return this.phase;
  }

  get evidence(): Evidence {
    return { phase: this.phase, charsReceived: this.charsReceived, firstTokenMs: this.firstTokenMs };
  }

  get progress(): OwnProgress {
    return { ...this.evidence, atMs: this.progressAtMs, budgetMs: this.budgetMs };
  }

  /** The budget of `prefill` in this try; not below the stream gap. */
  setPrefillBudget(ms: number): void {
    this.prefillMs = ms;
    this.arm();
  }

  /** The try's own work moved on, or content arrived: silence starts anew. */
  enter(phase: Phase): void {
    this.phase = phase;
    if (phase === 'prefill') this.askedMs = performance.now();
    this.moved();
  }

  /** The stream is in another phase, but nothing was received: silence goes on. */
  switchTo(phase: Phase): void {
    if (phase === this.phase) return;
    this.phase = phase;
    this.arm();
  }

  /** Content of so many characters was received and decoded. */
  received(chars: number): void {
    if (chars === 0) return;
    this.charsReceived += chars;
    if (this.askedMs !== null) this.firstTokenMs ??= Math.round(performance.now() - this.askedMs);
    this.moved();
  }

  /** Nothing is sent from here on, whatever still arrives. */
  stop(): void {
    this.isStopped = true;
    clearInterval(this.ticker);
    this.disarm();
  }

  private get budgetMs(): number {
    return this.phase === 'prefill' ? this.prefillMs : this.options.budgetsMs[this.phase];
  }

  private moved(): void {
    this.progressMs = performance.now();
    this.progressAtMs = Date.now();
    this.hasMovedSinceBeat = true;
    this.isWarned = false;
    this.arm();
  }

  /** When the next beat is due; `null` when none is. Follows from the present phase alone, so a change of phase needs no cases. */
  private dueMs(): number | null {
    const earliestMs = this.beatMs + this.gapMs;
    if (this.phase === 'streaming') return this.hasMovedSinceBeat ? earliestMs : null;
    const lastMs = this.progressMs + this.budgetMs - this.timeoutMs;
    if (lastMs <= this.beatMs) return null;
    return lastMs - earliestMs < this.gapMs ? Math.max(earliestMs, lastMs) : earliestMs;
  }

  private arm(): void {
    const dueMs = this.isStopped ? null : this.dueMs();
    if (dueMs === (this.pending?.dueMs ?? null)) return;
    this.disarm();
    if (dueMs === null) return;
    const timer = setTimeout(() => this.send(dueMs), Math.max(0, dueMs - performance.now()));
    timer.unref();
    this.pending = { dueMs, timer };
  }

  private disarm(): void {
    if (this.pending) clearTimeout(this.pending.timer);
    this.pending = null;
  }

  /** Timers fire up to a millisecond early; taken as it is, the last beat would come before its time, and another one follow it. */
  private send(dueMs: number): void {
    this.pending = null;
    this.beatMs = Math.max(dueMs, performance.now());
    this.hasMovedSinceBeat = false;
    this.options.beat(this.progress);
    this.arm();
  }

  /** A late tick tells that this process was busy, and says nothing about the provider. */
  private tick(): void {
    const nowMs = performance.now();
    const isLate = nowMs - this.tickMs > 2 * this.tickEveryMs;
    this.tickMs = nowMs;
    const silentMs = nowMs - this.progressMs;
    const { budgetMs } = this;
    if (isLate || this.isWarned || silentMs < budgetMs * WARN_AT) return;
    this.isWarned = true;
    this.options.warn({ phase: this.phase, silentMs: Math.round(silentMs), budgetMs });
  }
}
