import {
  Client,
  Connection,
  isGrpcServiceError,
  QueryNotRegisteredError,
  WorkflowNotFoundError,
  type WorkflowHandle,
} from '@temporalio/client';
import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';
import { parseSessionId } from '../protocol/limits.js';
import type { MessageSignal } from '../protocol/messages.js';
import {
  QUERY,
  SEARCH_ATTRIBUTES,
  SIGNAL,
  TASK_QUEUE,
  UPDATE,
  WORKFLOW_TASK_TIMEOUT_MS,
  WORKFLOW_TYPE,
} from '../protocol/names.js';
import type { Output } from '../protocol/outputs.js';
import {
  DEFAULT_AGENT,
  type DrainAnswer,
  type NudgeAnswer,
  type ResumeAnswer,
  type SessionInput,
  type StopAnswer,
  type StopInput,
  type UndrainAnswer,
} from '../protocol/session-input.js';
import type { SessionView } from '../protocol/view.js';
import { openStore } from '../store/open-store.js';
import type { SessionRow, SessionStore, StoredOutcome } from '../store/session-store.js';
import { followOutputs, type FollowOptions, type Journal } from './follow.js';
import { withLiveProgress } from './live-progress.js';
import { JournalWatch } from './journal-watch.js';
import { toSignal, type MessageInput } from './message-input.js';
import { SentMessage } from './sent-message.js';
import { SessionError } from './session-error.js';

export interface ConnectOptions {
  /** `host:port` of Temporal's frontend. */
  address: string;
  namespace?: string;
  taskQueue?: string;
  /** Path of the store that the workers use. */
  store: string;
}

/** Milliseconds that Temporal may take to answer; without a worker a query would wait for ever. */
const ANSWER_LIMIT_MS = 5_000;
/** Nudges of one session within so many milliseconds are one request to its workflow, whoever sends them. */
const NUDGE_BUCKET_MS = 1_000;
const CONNECT_LIMIT_MS = 5_000;

/** Sessions that a client remembers to have reached. */
const REACHED_LIMIT = 10_000;

const AGENT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, 'KEYWORD');
const TENANT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.tenant, 'KEYWORD');

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
  private readonly reached = new Set<string>();
  private readonly pending = new Set<Promise<unknown>>();
  /** Nudges that are under way, by session. */
  private readonly nudges = new Map<string, Promise<NudgeAnswer>>();

  private constructor(
    private readonly temporal: Client,
    private readonly store: SessionStore,
    private readonly taskQueue: string,
    private readonly address: string,
  ) {
    this.journal = { store, watch: new JournalWatch(store) };
  }

  /** @throws SessionError `unreachable` when there is no server; StoreOpenError when the store cannot be used. */
  static async connect({ address, namespace, taskQueue, store }: ConnectOptions): Promise<SessionClient> {
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
      return new SessionClient(client, opened, taskQueue ?? TASK_QUEUE, address);
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
    const { sessionId, tenant } = requireSessionId(session);
    const signal = await toSignal(message, this.store);
    const fromSeq = await this.lastSeq(sessionId);
    if (!(await this.signalKnown(sessionId, signal))) {
      await this.signalOrStart(sessionId, tenant, options.agent ?? DEFAULT_AGENT, signal);
    }
    return new SentMessage(this, this.journal, { sessionId, messageId: signal.id, fromSeq });
  }

  /** A plain signal costs the server less; a session that this client has reached before most likely still runs. */
  private async signalKnown(sessionId: string, signal: MessageSignal): Promise<boolean> {
    if (!this.reached.has(sessionId)) return false;
    try {
      await this.ask(() => this.handle(sessionId).signal(SIGNAL.message, signal), sessionId);
      return true;
    } catch (error) {
      this.reached.delete(sessionId);
      if (error instanceof SessionError && error.code === 'unknown_session') return false;
      throw error;
    }
  }

  private async signalOrStart(sessionId: string, tenant: string, agent: string, signal: MessageSignal): Promise<void> {
    const input: SessionInput = { agent };
    await this.ask(() =>
      this.temporal.workflow.signalWithStart(WORKFLOW_TYPE, {
        workflowId: sessionId,
        taskQueue: this.taskQueue,
        args: [input],
        signal: SIGNAL.message,
        signalArgs: [signal],
        workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
        typedSearchAttributes: new TypedSearchAttributes([
          { key: AGENT, value: agent },
          { key: TENANT, value: tenant },
        ]),
      }),
    );
    if (this.reached.size >= REACHED_LIMIT) this.reached.clear();
    this.reached.add(sessionId);
  }

  /**
   * The session's control state, from its workflow, and the progress of a running model call, from the server.
   * @throws SessionError `unknown_session`, `not_read` when no worker answers.
   */
  async state(session: string): Promise<SessionView> {
    const { sessionId } = requireSessionId(session);
    const view = await this.ask(() => this.handle(sessionId).query<SessionView>(QUERY.state), sessionId);
    if (!view.turn) return view;
    return withLiveProgress(view, await this.ask(() => this.handle(sessionId).describe(), sessionId));
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
    const answer = this.ask(
      () => this.handle(sessionId).executeUpdate<NudgeAnswer, []>(UPDATE.nudge, { updateId }),
      sessionId,
    ).finally(() => this.nudges.delete(sessionId));
    this.nudges.set(sessionId, answer);
    return answer;
  }

  /** Ids of the namespace's sessions whose workflow runs, as Temporal lists them: one begun a moment ago may be missing. */
  async *runningSessions(): AsyncGenerator<string> {
    const query = `WorkflowType = '${WORKFLOW_TYPE}' AND ExecutionStatus = 'Running'`;
    try {
      for await (const { workflowId } of this.temporal.workflow.list({ query })) yield workflowId;
    } catch (error) {
      throw this.toSessionError(error, undefined);
    }
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
    const { status } = await this.ask(() => this.handle(sessionId).describe(), sessionId);
    return status.name === 'RUNNING';
  }

  async close(): Promise<void> {
    // A request that is cut off by the closing channel fails where nobody can catch it.
    await Promise.allSettled(this.pending);
    await this.store.close();
    await this.temporal.connection.close();
  }

  private async update<Answer>(session: string, name: string, options: object = {}): Promise<Answer> {
    const { sessionId } = requireSessionId(session);
    return this.ask(() => this.handle(sessionId).executeUpdate<Answer, [object]>(name, { args: [options] }), sessionId);
  }

  private handle(sessionId: string): WorkflowHandle {
    return this.temporal.workflow.getHandle(sessionId);
  }

  private async ask<Answer>(request: () => Promise<Answer>, sessionId?: string): Promise<Answer> {
    const answer = this.temporal.connection.withDeadline(Date.now() + ANSWER_LIMIT_MS, request);
    this.pending.add(answer);
    try {
      return await answer;
    } catch (error) {
      throw this.toSessionError(error, sessionId);
    } finally {
      this.pending.delete(answer);
    }
  }

  private toSessionError(error: unknown, sessionId: string | undefined): unknown {
    if (error instanceof WorkflowNotFoundError) {
      return new SessionError('unknown_session', `there is no session "${sessionId}"; see: vigil sessions`, {
        cause: error,
      });
    }
    if (error instanceof QueryNotRegisteredError || isDeadline(error)) {
      return new SessionError(
        'not_read',
        `no worker answered within ${ANSWER_LIMIT_MS / 1_000} s; is one running? (npm start, or vigil worker)`,
        { cause: error },
      );
    }
    if (!isGrpcServiceError(unwrapped(error))) return error;
    return new SessionError(
      'unreachable',
      `the Temporal server at ${this.address} does not answer: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

function requireSessionId(text: string): { sessionId: string; tenant: string; name: string } {
  const parsed = parseSessionId(text);
  if ('problem' in parsed) throw new SessionError('invalid_input', parsed.problem);
  return parsed;
}

/** `DEADLINE_EXCEEDED` and `CANCELLED` of gRPC. */
function isDeadline(error: unknown): boolean {
  const cause = unwrapped(error);
  return isGrpcServiceError(cause) && (cause.code === 4 || cause.code === 1);
}

function unwrapped(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error;
}
