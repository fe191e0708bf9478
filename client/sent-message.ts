import type { Disposition } from '../protocol/fates.js';
import type { Output } from '../protocol/outputs.js';
import type { SessionView } from '../protocol/view.js';
import type { SessionStore, StoredOutcome } from '../store/session-store.js';
import type { Journal } from './follow.js';
import { type Aliveness, followWhile, requireAlive } from './follow-while.js';
import { refusal, SessionError } from './session-error.js';

interface Sessions extends Aliveness {
  state(sessionId: string): Promise<SessionView>;
}

interface Identity {
  sessionId: string;
  messageId: string;
  /** Newest output before the message was sent. */
  fromSeq: number;
}

/** Milliseconds between two checks that the session's workflow still runs, while its answer is awaited. */
const ALIVE_CHECK_MS = 5_000;

/**
 * A message that Temporal has accepted. Three answers that are never mixed: *accepted* (this object exists), *read* (the session's
 * workflow saw it), *placed* (what the session did with it).
 */
export class SentMessage {
  constructor(
    private readonly sessions: Sessions,
    private readonly journal: Journal & { store: SessionStore },
    readonly identity: Identity,
  ) {}

  get messageId(): string {
    return this.identity.messageId;
  }

  /** Resolves when the workflow has seen the message. @throws SessionError `not_read` when no worker answers in time. */
  async read(): Promise<void> {
    // A query is answered after everything that was accepted before it.
    await this.sessions.state(this.identity.sessionId);
  }

  /** What the session did with the message. */
  async placed(options: { signal?: AbortSignal } = {}): Promise<Disposition> {
    for await (const output of this.follow(options.signal)) {
      if (output.kind === 'MessageReceived' && output.messageId === this.messageId) return output.disposition;
    }
    throw waitTimeout(this.messageId);
  }

  /**
   * How the turn ended that answered the message, its own or the one it was steered into.
   * @throws SessionError `refused`, `session_closed`, `suspended`, `session_ended`, or `wait_timeout` when the signal aborts first
   */
  async outcome(options: { signal?: AbortSignal } = {}): Promise<StoredOutcome> {
    const { sessionId, messageId } = this.identity;
    for await (const output of this.follow(options.signal)) {
      const turnId = this.endedTurn(output);
      if (turnId === null) continue;
      const { store } = this.journal;
      const item = await store.findItem(sessionId, messageId);
      // A repeat names the first one's turn itself: the store need not know the item any more.
      const isNamed = output.kind === 'MessageReceived';
      if (!isNamed && (item?.turnId !== turnId || item.fate === 'pending')) continue;
      const outcome = await store.findOutcome(sessionId, turnId);
      if (outcome) return outcome;
      throw new SessionError(
        'session_ended',
        `message ${messageId} was answered, but its outcome is not in this store`,
      );
    }
    throw waitTimeout(messageId);
  }

  /** The turn whose end an output tells of, if it can be this message's. */
  private endedTurn(output: Output): string | null {
    if (output.kind === 'TurnEnded') return output.turnId;
    if (output.kind === 'Notice' && output.code === 'session_suspended')
      throw new SessionError('suspended', output.message);
    if (output.kind !== 'MessageReceived' || output.messageId !== this.messageId) return null;
    const { disposition } = output;
    if (disposition.kind === 'refused') throw refusal(disposition);
    return disposition.kind === 'duplicate' && disposition.fate !== 'pending' ? disposition.turnId : null;
  }

  private follow(signal: AbortSignal | undefined): AsyncGenerator<Output> {
    const { sessionId, fromSeq, messageId } = this.identity;
    const check = () => requireAlive(this.sessions, sessionId, `message ${messageId}`);
    return followWhile(this.journal, { sessionId, afterSeq: fromSeq, signal, check, everyMs: ALIVE_CHECK_MS });
  }
}

function waitTimeout(messageId: string): SessionError {
  return new SessionError(
    'wait_timeout',
    `message ${messageId} is accepted, but its answer did not come in time; it is not lost`,
  );
}
