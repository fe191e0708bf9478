import {
  type Client,
  isGrpcServiceError,
  QueryNotRegisteredError,
  WithStartWorkflowOperation,
  WorkflowNotFoundError,
  type WorkflowHandle,
} from '@temporalio/client';
import { defineSearchAttributeKey, TypedSearchAttributes, type Workflow } from '@temporalio/common';
import { SEARCH_ATTRIBUTES, WORKFLOW_TASK_TIMEOUT_MS, WORKFLOW_TYPE } from '../protocol/names.js';
import type { SessionInput } from '../protocol/session-input.js';
import { SessionError } from './session-error.js';

/** A session that is started if it does not run. */
export interface StartTarget {
  sessionId: string;
  tenant: string;
  agent: string;
}

/** Milliseconds that Temporal may take to answer; without a worker a query would wait for ever. */
const ANSWER_LIMIT_MS = 5_000;

/** Sessions that a client remembers to have reached. */
const REACHED_LIMIT = 10_000;

const AGENT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.agent, 'KEYWORD');
const TENANT = defineSearchAttributeKey(SEARCH_ATTRIBUTES.tenant, 'KEYWORD');

/**
 * What a client asks of Temporal about sessions. Every request has a deadline, and every failure is a `SessionError`: `unreachable`,
 * `unknown_session`, or `not_read` when no worker answers.
 */
export class SessionServer {
  private readonly reached = new Set<string>();
  private readonly pending = new Set<Promise<unknown>>();

  constructor(
    private readonly temporal: Client,
    private readonly taskQueue: string,
    private readonly address: string,
  ) {}

  handle(sessionId: string): WorkflowHandle {
    return this.temporal.workflow.getHandle(sessionId);
  }

  /** Resolves when Temporal has accepted the signal: from then on it cannot be lost. */
  async signalOrStart(target: StartTarget, name: string, payload: unknown): Promise<void> {
    if (await this.signalKnown(target.sessionId, name, payload)) return;
    await this.ask(() =>
      this.temporal.workflow.signalWithStart(WORKFLOW_TYPE, {
        ...this.startOptions(target),
        signal: name,
        signalArgs: [payload],
      }),
    );
    if (this.reached.size >= REACHED_LIMIT) this.reached.clear();
    this.reached.add(target.sessionId);
  }

  /** A plain signal costs the server less; a session that this client has reached before most likely still runs. */
  private async signalKnown(sessionId: string, name: string, payload: unknown): Promise<boolean> {
    if (!this.reached.has(sessionId)) return false;
    try {
      await this.signal(sessionId, name, payload);
      return true;
    } catch (error) {
      this.reached.delete(sessionId);
      if (error instanceof SessionError && error.code === 'unknown_session') return false;
      throw error;
    }
  }

  async signal(sessionId: string, name: string, payload: unknown): Promise<void> {
    await this.ask(() => this.handle(sessionId).signal(name, payload), sessionId);
  }

  /** An update that no worker answers is not done for sure, and not undone for sure either: the server may still hand it on. */
  update<Answer>(sessionId: string, name: string, input: object): Promise<Answer> {
    const args: [object] = [input];
    return this.ask(() => this.handle(sessionId).executeUpdate<Answer, [object]>(name, { args }), sessionId).catch(
      asNotDone,
    );
  }

  updateOrStart<Answer>(target: StartTarget, name: string, input: object): Promise<Answer> {
    const startWorkflowOperation = new WithStartWorkflowOperation(WORKFLOW_TYPE, {
      ...this.startOptions(target),
      workflowIdConflictPolicy: 'USE_EXISTING',
    });
    const options = { args: [input] as [object], startWorkflowOperation };
    return this.ask(
      () => this.temporal.workflow.executeUpdateWithStart<Workflow, Answer, [object]>(name, options),
      target.sessionId,
    ).catch(asNotDone);
  }

  private startOptions({ sessionId, tenant, agent }: StartTarget) {
    const input: SessionInput = { agent };
    return {
      workflowId: sessionId,
      taskQueue: this.taskQueue,
      args: [input],
      workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
      typedSearchAttributes: new TypedSearchAttributes([
        { key: AGENT, value: agent },
        { key: TENANT, value: tenant },
      ]),
    };
  }

  /** Ids of the namespace's sessions whose workflow runs, as Temporal lists them: one begun a moment ago may be missing. */
  async *running(): AsyncGenerator<string> {
    const query = `WorkflowType = '${WORKFLOW_TYPE}' AND ExecutionStatus = 'Running'`;
    try {
      for await (const { workflowId } of this.temporal.workflow.list({ query })) yield workflowId;
    } catch (error) {
      throw this.toSessionError(error, undefined);
    }
  }

  /** A request that is cut off by the closing channel fails where nobody can catch it. */
  async close(): Promise<void> {
    await Promise.allSettled(this.pending);
    await this.temporal.connection.close();
  }

  async ask<Answer>(request: () => Promise<Answer>, sessionId?: string): Promise<Answer> {
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

function asNotDone(error: unknown): never {
  if (!(error instanceof SessionError) || error.code !== 'not_read') throw error;
  throw new SessionError('not_read', `not done: ${error.message}; ask again when one runs`, { cause: error });
}

/** `DEADLINE_EXCEEDED` and `CANCELLED` of gRPC. */
function isDeadline(error: unknown): boolean {
  const cause = unwrapped(error);
  return isGrpcServiceError(cause) && (cause.code === 4 || cause.code === 1);
}

function unwrapped(error: unknown): unknown {
  return error instanceof Error && error.cause !== undefined ? error.cause : error;
}
