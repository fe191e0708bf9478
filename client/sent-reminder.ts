import { setTimeout as delay } from 'node:timers/promises';
import { itemIdOf, type Disposition, type Fate } from '../protocol/fates.js';
import type { Output, OutputKind } from '../protocol/outputs.js';
import type { SessionView } from '../protocol/view.js';
import { deliveryId } from '../store/deliveries.js';
import type { SessionStore, StoredOutcome } from '../store/session-store.js';
import type { Journal } from './follow.js';
import { type Aliveness, followWhile, requireAlive } from './follow-while.js';
import { refusal, SessionError } from './session-error.js';

/** Where a reminder stands. The last three are ends. */
export type ReminderState =
  /** Temporal has it: it cannot be lost. */
  | { kind: 'accepted' }
  /** It waits: for `turns` before it (`position` counts from 1; `null` when not known), or for a `person` to act on the session. */
  | { kind: 'deferred'; position: number | null; waitingFor: 'turns' | 'person' }
  | { kind: 'running'; turnId: string }
  | { kind: 'delivered'; turnId: string; outcome: StoredOutcome }
  /** Its turn ended otherwise; `turnId` is `null` when it never had one. */
  | { kind: 'failed'; reason: string; turnId: string | null }
  | { kind: 'expired' };

export type SettledReminder = Extract<ReminderState, { kind: 'delivered' | 'failed' | 'expired' }>;

interface Sessions extends Aliveness {
  state(sessionId: string): Promise<SessionView>;
}

interface Identity {
  sessionId: string;
  reminderId: string;
  dueMs: number;
  /** Newest output before the reminder was sent. */
  fromSeq: number;
  /** Milliseconds without progress of the session after which the delivery counts as not observed. */
  observeMs: number;
  /** That its outcome was asked to go to, besides the journal. */
  channel?: string;
}

const ALIVE_CHECK_MS = 5_000;
/** Between two looks whether a channel has taken an outcome. */
const CHANNEL_LOOK_MS = 200;

/** What shows that a session moves. Warnings, notices and what others send do not. */
const PROGRESS: ReadonlySet<OutputKind> = new Set<OutputKind>([
  ...(['TurnStarted', 'TextDelta', 'ReasoningDelta', 'TextOutput'] as const),
  ...(['ToolStarted', 'ToolFinished', 'TurnEnded'] as const),
]);

/**
 * A reminder that Temporal has accepted. Observing it changes nothing: whoever gives up may send it again under its key, and the session
 * answers with what became of the first.
 *
 * R1 The states come in their order, an end last and once; nothing of the observation is left after it, or after its reader leaves.
 * R2 With a channel it is delivered when the channel has it; what the channel does with it then is the channel's own.
 * R3 The deadline counts from the newest progress of the session, whichever turn made it.
 */
export class SentReminder {
  constructor(
    private readonly sessions: Sessions,
    private readonly journal: Journal & { store: SessionStore },
    readonly identity: Identity,
  ) {}

  /** As its turn's `source` names it. */
  get key(): string {
    return `${this.identity.reminderId}:${this.identity.dueMs}`;
  }

  /**
   * The reminder's states as they come, ending with an end.
   * @throws SessionError `session_busy`, `session_closed`, `refused`, `delivery_not_observed`, `channel_not_registered`, `session_ended`, or
   *   `wait_timeout` when the signal aborts first
   */
  async *observe(options: { signal?: AbortSignal } = {}): AsyncGenerator<ReminderState> {
    let told: ReminderState = { kind: 'accepted' };
    yield told;
    for await (const output of this.follow(options.signal)) {
      const state = await this.stateAfter(output);
      if (!state || isSame(state, told)) continue;
      if (state.kind === 'delivered') await this.requireTaken(state.turnId, options.signal);
      told = state;
      yield told;
      if (isSettled(told)) return;
    }
    throw new SessionError('wait_timeout', `reminder ${this.key} is accepted, but did not end in time; it is not lost`);
  }

  /** What the session did with it: the first state after `accepted`. Throws like `observe`. */
  async placed(options: { signal?: AbortSignal } = {}): Promise<ReminderState> {
    for await (const state of this.observe(options)) if (state.kind !== 'accepted') return state;
    throw new Error('an observation ends with an end');
  }

  /** How it ended. Throws like `observe`. */
  async outcome(options: { signal?: AbortSignal } = {}): Promise<SettledReminder> {
    for await (const state of this.observe(options)) if (isSettled(state)) return state;
    throw new Error('an observation ends with an end');
  }

  private async *follow(signal: AbortSignal | undefined): AsyncGenerator<Output> {
    const { sessionId, fromSeq, observeMs } = this.identity;
    const deadline = new ProgressDeadline(observeMs);
    const check = async () => {
      if (deadline.isOver() && !(await this.hasProgressed(deadline))) throw this.notObserved();
      await requireAlive(this.sessions, sessionId, `reminder ${this.key}`);
    };
    const everyMs = Math.min(ALIVE_CHECK_MS, Math.ceil(observeMs / 4));
    for await (const output of followWhile(this.journal, { sessionId, afterSeq: fromSeq, signal, check, everyMs })) {
      if (PROGRESS.has(output.kind)) deadline.restart(output.atMs);
      yield output;
    }
  }

  /** A long call moves without an output; its worker tells the server. */
  private async hasProgressed(deadline: ProgressDeadline): Promise<boolean> {
    const view = await this.sessions.state(this.identity.sessionId).catch(() => null);
    return view?.turn ? deadline.restartIfNewer(view.turn.lastProgress.atMs) : false;
  }

  private notObserved(): SessionError {
    const { observeMs } = this.identity;
    return new SessionError(
      'delivery_not_observed',
      `reminder ${this.key} is accepted, but in ${observeMs / 1_000} s nothing moved in its session; sending it again is safe and never makes a second turn`,
    );
  }

  /** Waits until the channel has the outcome. */
  private async requireTaken(turnId: string, signal?: AbortSignal): Promise<void> {
    const { sessionId, channel, observeMs } = this.identity;
    if (channel === undefined) return;
    const id = deliveryId({ sessionId, subject: turnId, part: 'outcome' });
    for (const startMs = performance.now(); !signal?.aborted; await delay(CHANNEL_LOOK_MS)) {
      const delivery = await this.journal.store.findDelivery(id);
      // Dead without an attempt: nobody ever took it.
      if (delivery?.state === 'dead' && delivery.attempts === 0) {
        throw new SessionError(
          'channel_not_registered',
          `channel "${channel}": ${delivery.problem}; see: vigil deliveries`,
        );
      }
      if (delivery) return;
      if (performance.now() - startMs > observeMs) throw this.notObserved();
    }
  }

  private async stateAfter(output: Output): Promise<ReminderState | null> {
    const { reminderId, dueMs } = this.identity;
    switch (output.kind) {
      case 'ReminderReceived':
        if (output.reminderId !== reminderId || output.dueMs !== dueMs) return null;
        return this.stateBy(output.disposition);
      case 'TurnStarted':
        return this.isOwn(output) ? { kind: 'running', turnId: output.turnId } : null;
      case 'TurnEnded':
        return this.isOwn(output) ? this.endOf(output.turnId) : null;
      case 'Notice':
        return output.code === 'session_suspended' ? WAITING_FOR_PERSON : null;
      default:
        return null;
    }
  }

  private isOwn({ source: { kind, key } }: Extract<Output, { kind: 'TurnStarted' | 'TurnEnded' }>): boolean {
    return kind === 'reminder' && key === this.key;
  }

  private async stateBy(disposition: Disposition): Promise<ReminderState> {
    switch (disposition.kind) {
      case 'refused':
        throw refusal(disposition);
      case 'queued':
        return this.deferred(disposition.position);
      case 'started':
      case 'steered':
        return { kind: 'running', turnId: disposition.turnId };
      case 'duplicate':
        return this.stateOfFirst(disposition.fate, disposition.turnId);
    }
  }

  private async stateOfFirst(fate: Fate | 'pending', turnId: string | null): Promise<ReminderState> {
    if (fate === 'pending') return turnId === null ? this.deferred(null) : { kind: 'running', turnId };
    if (fate === 'expired') return { kind: 'expired' };
    return turnId === null ? { kind: 'failed', reason: `it was ${fate}`, turnId } : this.endOf(turnId);
  }

  /** A session that drains or is suspended goes on when a person says so. */
  private async deferred(position: number | null): Promise<ReminderState> {
    const view = await this.sessions.state(this.identity.sessionId).catch(() => null);
    const needsPerson = view !== null && (view.draining || view.suspended !== null);
    return needsPerson ? { ...WAITING_FOR_PERSON, position } : { kind: 'deferred', position, waitingFor: 'turns' };
  }

  private async endOf(turnId: string): Promise<SettledReminder> {
    const outcome = await this.journal.store.findOutcome(this.identity.sessionId, turnId);
    if (outcome?.outcome === 'completed') return { kind: 'delivered', turnId, outcome };
    const reason = outcome ? (outcome.reason ?? outcome.outcome) : 'its outcome is not in this store any more';
    return { kind: 'failed', reason, turnId };
  }
}

const WAITING_FOR_PERSON = { kind: 'deferred', position: null, waitingFor: 'person' } as const;

/** The id under which the session and the store know a reminder. */
export function reminderItemId({ reminderId, dueMs }: { reminderId: string; dueMs: number }): string {
  return itemIdOf({ kind: 'reminder', key: `${reminderId}:${dueMs}` });
}

function isSettled(state: ReminderState): state is SettledReminder {
  return state.kind === 'delivered' || state.kind === 'failed' || state.kind === 'expired';
}

function isSame(one: ReminderState, other: ReminderState): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

class ProgressDeadline {
  private sinceMs = performance.now();
  private newestMs = Date.now();

  constructor(private readonly limitMs: number) {}

  isOver(): boolean {
    return performance.now() - this.sinceMs >= this.limitMs;
  }

  /** `atMs` is the instant of the progress, by the clock of whoever made it. */
  restart(atMs: number): void {
    this.newestMs = Math.max(this.newestMs, atMs);
    this.sinceMs = performance.now();
  }

  /** False when nothing has moved since the newest progress known. */
  restartIfNewer(atMs: number): boolean {
    const isNewer = atMs > this.newestMs;
    if (isNewer) this.restart(atMs);
    return isNewer;
  }
}
