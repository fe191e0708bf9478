import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import type { ItemRecord } from '../protocol/fates.js';
import { LIMITS, parseSessionId } from '../protocol/limits.js';
import { QUERY, SIGNAL, TASK_QUEUE, UPDATE } from '../protocol/names.js';
import type { Output } from '../protocol/outputs.js';
import {
  DEFAULT_AGENT,
  type DrainAnswer,
  type NudgeAnswer,
  type ResumeAnswer,
  type StopAnswer,
  type StopInput,
  type UndrainAnswer,
} from '../protocol/session-input.js';
import type {
  CancelWakeAnswer,
  CancelWakeInput,
  CloseAnswer,
  CloseInput,
  EditWakeInput,
  ReminderSignal,
  ScheduleWakeInput,
  WakeAnswer,
  WakeView,
} from '../protocol/wakes.js';
import type { SessionView } from '../protocol/view.js';
import { openStore } from '../store/open-store.js';
import type { SessionRow, SessionStore, StoredOutcome } from '../store/session-store.js';
import { followOutputs, type FollowOptions, type Journal } from './follow.js';
import { withLiveProgress } from './live-progress.js';
import { JournalWatch } from './journal-watch.js';
import { toPrompt, toSignal, type MessageInput } from './message-input.js';
import { toReminder } from './reminder-input.js';
import { SentMessage } from './sent-message.js';
import { reminderItemId, SentReminder } from './sent-reminder.js';
import { sessionClosed, SessionError } from './session-error.js';
import { SessionServer, type StartTarget } from './session-server.js';

export interface ConnectOptions {
  /** `host:port` of Temporal's frontend. */
  address: string;
  namespace?: string;
  taskQueue?: string;
  /** Path of the store that the workers use. */
  store: string;
  /** Milliseconds without progress of its session after which a reminder counts as not observed; default 20 minutes. */
  observeMs?: number;
}

/** What `cancelWake` comes to: the session's answer, or the word that the cancel is kept. */
export type CancelWakeResult =
  | CancelWakeAnswer
  /** No worker answers. Temporal keeps the cancel, and the session applies it before anything that is due. */
  | { kind: 'kept' };

/** Nudges of one session within so many milliseconds are one request to its workflow, whoever sends them. */
const NUDGE_BUCKET_MS = 1_000;
const CONNECT_LIMIT_MS = 5_000;
const OBSERVE_MS = 20 * 60_000;

/** Milliseconds that the store may take to learn that a session was closed. */
const CLOSED_LIMIT_MS = 2_000;

/**
 * Talks to sessions: sends messages, reads state and outputs, waits for outcomes.
 *
 * @example
 * const client = await SessionClient.connect({ address: '127.0.0.1:7233', store: '.vigil/store.db' });
 * const sent = await client.send('demo', { text: 'hello' });
 * console.log((await sent.outcome()).text);
 * await client.close();
 */
export class SessionClient {
  private readonly journal: Journal & { store: SessionStore };
  /** Nudges that are under way, by session. */
  private readonly nudges = new Map<string, Promise<NudgeAnswer>>();

  private constructor(
    private readonly server: SessionServer,
    private readonly store: SessionStore,
    private readonly observeMs: number,
  ) {
    this.journal = { store, watch: new JournalWatch(store) };
  }

  /** @throws SessionError `unreachable` when there is no server; StoreOpenError when the store cannot be used. */
  static async connect(options: ConnectOptions): Promise<SessionClient> {
    const { address, namespace, taskQueue, store, observeMs = OBSERVE_MS } = options;
    const connection = await Connection.connect({ address, connectTimeout: CONNECT_LIMIT_MS }).catch(
      (cause: unknown) => {
        throw new SessionError(
          'unreachable',
          `no Temporal server answers at ${address}; start one with "npm start", or name yours with VIGIL_ADDRESS`,
          { cause },
        );
      },
    );
    try {
      const opened = await openStore(store);
      const client = new Client({ connection, namespace: namespace ?? 'default' });
      return new SessionClient(new SessionServer(client, taskQueue ?? TASK_QUEUE, address), opened, observeMs);
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /**
   * Sends a message, starting the session if there is none. Resolves when Temporal has accepted it: from then on it cannot be lost.
   * What the session did with it, and its answer, are asked of the returned `SentMessage`.
   */
  async send(session: string, message: MessageInput, options: { agent?: string } = {}): Promise<SentMessage> {
    const target = await this.requireOpen(session, options.agent);
    const signal = await toSignal(message, this.store);
    const fromSeq = await this.lastSeq(session);
    await this.server.signalOrStart(target, SIGNAL.message, signal);
    return new SentMessage(this, this.journal, { sessionId: target.sessionId, messageId: signal.id, fromSeq });
  }

  /**
   * Sends a reminder that the caller keeps, starting the session if there is none: due now, a turn of its own. Resolves when Temporal has
   * accepted it. Safe to repeat: the pair of `reminderId` and `dueMs` has one turn, and a repeat learns what became of it.
   * @throws SessionError `invalid_input`, `session_closed`
   */
  async remind(session: string, reminder: ReminderSignal, options: { agent?: string } = {}): Promise<SentReminder> {
    const target = await this.requireOpen(session, options.agent);
    const signal = await toReminder(reminder, this.store);
    const fromSeq = await this.lastSeq(session);
    await this.server.signalOrStart(target, SIGNAL.reminder, signal);
    const { reminderId, dueMs, channel } = signal;
    const observation = { fromSeq, observeMs: this.observeMs, ...(channel === undefined ? {} : { channel }) };
    const identity = { sessionId: target.sessionId, reminderId, dueMs, ...observation };
    return new SentReminder(this, this.journal, identity);
  }

  /** What became of a reminder, whoever sent it; `null` when the session has not taken it up, or has refused it. */
  findReminder(session: string, reminder: { reminderId: string; dueMs: number }): Promise<ItemRecord | null> {
    return this.store.findItem(requireSessionId(session).sessionId, reminderItemId(reminder));
  }

  /**
   * Makes a wake, or replaces the one with the same key, starting the session if there is none. Refusals are answers.
   * @throws SessionError `session_closed`; `not_read` when no worker answers: give the wake a key, and asking again never makes a second one
   */
  async scheduleWake(session: string, wake: ScheduleWakeInput, options: { agent?: string } = {}): Promise<WakeAnswer> {
    const target = await this.requireOpen(session, options.agent);
    const prompt = await toPrompt(wake.prompt, LIMITS.wakePromptBytes, this.store);
    return this.server.updateOrStart<WakeAnswer>(target, UPDATE.scheduleWake, { ...wake, prompt });
  }

  /** Changes what is given. @throws SessionError `unknown_session`, `session_closed`, `not_read` */
  async editWake(session: string, { prompt, ...change }: EditWakeInput): Promise<WakeAnswer> {
    await this.requireOpen(session);
    const given = prompt === undefined ? {} : { prompt: await toPrompt(prompt, LIMITS.wakePromptBytes, this.store) };
    return this.update<WakeAnswer>(session, UPDATE.editWake, { ...change, ...given });
  }

  /**
   * Removes a wake, by id or key. From the answer on none of its due times starts a turn. A wake that does not exist, and a closed session,
   * are answers, not errors.
   * @throws SessionError `unknown_session`
   */
  async cancelWake(session: string, cancel: CancelWakeInput): Promise<CancelWakeResult> {
    try {
      return await this.update<CancelWakeAnswer>(session, UPDATE.cancelWake, cancel);
    } catch (error) {
      if (!(error instanceof SessionError)) throw error;
      if (error.code === 'session_closed') return { kind: 'not_found', existing: [] };
      if (error.code !== 'not_read') throw error;
      await this.server.signal(requireSessionId(session).sessionId, SIGNAL.cancelWake, cancel);
      return { kind: 'kept' };
    }
  }

  /** The session's wakes; a closed one has none. @throws SessionError `unknown_session`, `not_read` */
  async wakes(session: string): Promise<WakeView[]> {
    const row = await this.findSession(session);
    return row?.status === 'closed' ? [] : (await this.state(session)).wakes;
  }

  /**
   * Ends a session for good: its turn, what waits, and every wake. Safe to repeat.
   * @throws SessionError `unknown_session`, `not_read`
   */
  async closeSession(session: string, input: CloseInput = {}): Promise<CloseAnswer> {
    const { sessionId, tenant } = requireSessionId(session);
    const row = await this.store.findSession(sessionId);
    if (row?.status === 'closed') return ALREADY_CLOSED;
    // A session whose workflow was ended from outside is closed too, or the next message would begin it anew.
    const answer = row
      ? await this.server.updateOrStart<CloseAnswer>({ sessionId, tenant, agent: row.agent }, UPDATE.close, input)
      : await this.update<CloseAnswer>(session, UPDATE.close, input);
    await this.untilClosed(sessionId);
    return answer;
  }

  /** The session answers before the store knows. */
  private async untilClosed(sessionId: string): Promise<void> {
    for (const deadlineMs = Date.now() + CLOSED_LIMIT_MS; Date.now() < deadlineMs; await delay(20)) {
      if ((await this.store.findSession(sessionId))?.status === 'closed') return;
    }
  }

  /**
   * The session's control state, from its workflow, and the progress of a running model call, from the server.
   * @throws SessionError `unknown_session`, `not_read` when no worker answers.
   */
  async state(session: string): Promise<SessionView> {
    const { sessionId } = requireSessionId(session);
    const view = await this.server.ask(() => this.server.handle(sessionId).query<SessionView>(QUERY.state), sessionId);
    if (!view.turn) return view;
    return withLiveProgress(view, await this.server.ask(() => this.server.handle(sessionId).describe(), sessionId));
  }

  /** Goes on with a suspended session. */
  async resume(session: string, options: { fromStore?: boolean } = {}): Promise<ResumeAnswer> {
    return this.update<ResumeAnswer>(session, UPDATE.resume, options);
  }

  /**
   * Ends the running turn at once, or nothing when another turn than the named one runs: name the turn to be safe against a late stop.
   * What waits runs next. A turn whose last call completed in the same moment may be answered `stopped`; its outcome then stays `completed`.
   */
  stop(session: string, options: StopInput = {}): Promise<StopAnswer> {
    return this.update<StopAnswer>(session, UPDATE.stop, options);
  }

  /** Lets a session come to rest: its turn goes on but is not resumed, what arrives waits. Safe to repeat. */
  drain(session: string): Promise<DrainAnswer> {
    return this.update<DrainAnswer>(session, UPDATE.drain);
  }

  /** Lets a session that drains take up work again. Safe to repeat. */
  undrain(session: string): Promise<UndrainAnswer> {
    return this.update<UndrainAnswer>(session, UPDATE.undrain);
  }

  /**
   * Makes sure that a session is awake. Any number of callers, here and in other processes, ask once in a short while and get the same
   * answer: what came after it was given goes on by itself.
   */
  nudge(session: string): Promise<NudgeAnswer> {
    const { sessionId } = requireSessionId(session);
    const asked = this.nudges.get(sessionId);
    if (asked) return asked;
    const updateId = `nudge-${Math.floor(Date.now() / NUDGE_BUCKET_MS)}`;
    const handle = this.server.handle(sessionId);
    const answer = this.server
      .ask(() => handle.executeUpdate<NudgeAnswer, []>(UPDATE.nudge, { updateId }), sessionId)
      .finally(() => this.nudges.delete(sessionId));
    this.nudges.set(sessionId, answer);
    return answer;
  }

  /** Ids of the namespace's sessions whose workflow runs, as Temporal lists them: one begun a moment ago may be missing. */
  runningSessions(): AsyncGenerator<string> {
    return this.server.running();
  }

  /** Batches of outputs as they come, in order, until the signal aborts. */
  outputs(session: string, options: FollowOptions): AsyncGenerator<Output[]> {
    return followOutputs(this.journal, requireSessionId(session).sessionId, options);
  }

  /** The newest `seq` of a session's outputs; 0 when it has none. */
  async lastSeq(session: string): Promise<number> {
    const { sessionId } = requireSessionId(session);
    return (await this.store.lastSeqs([sessionId])).get(sessionId) ?? 0;
  }

  /** Sessions from the store, newest activity first. */
  listSessions(query: { tenant?: string; limit: number }): Promise<SessionRow[]> {
    return this.store.listSessions(query);
  }

  /** What the store knows of a session; `null` when nothing. Answers without a worker or a server. */
  findSession(session: string): Promise<SessionRow | null> {
    return this.store.findSession(requireSessionId(session).sessionId);
  }

  findOutcome(session: string, turnId: string): Promise<StoredOutcome | null> {
    return this.store.findOutcome(requireSessionId(session).sessionId, turnId);
  }

  /** Whether the session's workflow runs. */
  async isRunning(session: string): Promise<boolean> {
    const { sessionId } = requireSessionId(session);
    const { status } = await this.server.ask(() => this.server.handle(sessionId).describe(), sessionId);
    return status.name === 'RUNNING';
  }

  /** How many readers of this client wait for outputs now: those that have ended, or were left, are not among them. */
  get waitingReaders(): number {
    return this.journal.watch.waiting;
  }

  /** Ends the connection; sessions know nothing of it. */
  async close(): Promise<void> {
    await this.server.close();
    await this.store.close();
  }

  /** The workflow of a closed session could be started again, and would only refuse. */
  private async requireOpen(session: string, agent = DEFAULT_AGENT): Promise<StartTarget> {
    const { sessionId, tenant } = requireSessionId(session);
    if ((await this.store.findSession(sessionId))?.status === 'closed') throw sessionClosed(sessionId);
    return { sessionId, tenant, agent };
  }

  private async update<Answer>(session: string, name: string, options: object = {}): Promise<Answer> {
    const { sessionId } = requireSessionId(session);
    try {
      return await this.server.update<Answer>(sessionId, name, options);
    } catch (error) {
      if (error instanceof SessionError && error.code === 'unknown_session') await this.requireOpen(sessionId);
      throw error;
    }
  }
}

const ALREADY_CLOSED: CloseAnswer = { kind: 'already_closed', wakes: [], turnId: null, items: [] };

function requireSessionId(text: string): { sessionId: string; tenant: string; name: string } {
  const parsed = parseSessionId(text);
  if ('problem' in parsed) throw new SessionError('invalid_input', parsed.problem);
  return parsed;
}
