import type { LanguageModelV3 } from '@ai-sdk/provider';
import type { Client } from '@temporalio/client';
import { type ActivityFunction, ApplicationFailure, type Logger } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { setTimeout as delay } from 'node:timers/promises';
import type { AgentDefinition, ToolDefinition } from '../../activities/agent.js';
import { createAgents } from '../../activities/agents.js';
import { createActivities } from '../../activities/create-activities.js';
import type { Dependencies } from '../../activities/dependencies.js';
import type { CallModelInput, CallModelResult, CallToolInput, ToolCallRef } from '../../protocol/calls.js';
import type { FailureDetails, FailureType } from '../../protocol/failures.js';
import { type PhaseBudgets, profileVersion, type Progress } from '../../protocol/liveness.js';
import type { AnsweredResult, SessionStore } from '../../store/session-store.js';
import { UNKNOWN_USAGE } from '../../protocol/usage.js';
import { openStore } from '../../store/open-store.js';
import { aMessage, journal, SESSION } from './store-builders.js';
import { aStoreFile } from './store-files.js';

/** The shortest table that an agent may have: a stall is over in a second. */
export const SHORT_BUDGETS = allOf(1_000);
/** For what must survive, on a machine that is busy too. */
export const PATIENT_BUDGETS = { ...allOf(2_000), prefill: 6_000 };

function allOf(ms: number): PhaseBudgets {
  return { setup: ms, connect: ms, prefill: ms, reasoning: ms, thinkingGap: ms, streaming: ms, finish: ms };
}

export interface Task {
  attempt?: number;
  taskToken?: string;
  /** Ends the task as Temporal's server does, when it hears nothing for so long. */
  heartbeatTimeoutMs?: number;
  /** What the task reaches its server by. */
  client?: Client;
}

/** A task that runs, as Temporal's worker runs it. */
export interface RunningTask<Result> {
  heartbeats: { atMs: number; details: Progress }[];
  /** Never rejects. Fails the test, saying what it waited for, when the task does not end. */
  end: Promise<TaskEnd<Result>>;
  hasEnded: boolean;
  cancel: MockActivityEnvironment['cancel'];
}

export interface TaskEnd<Result> {
  result?: Result;
  failure?: Error;
  tookMs: number;
}

export const AGENT = 'tester';
const LONGEST_TASK_MS = 15_000;

/** Activities with a real store in a folder of its own. */
export class ActivityWorld {
  /** Everything that was logged by the activities' tasks. */
  readonly logged: string[] = [];
  #tasks = 0;

  private constructor(
    readonly store: SessionStore,
    private readonly removeFile: () => Promise<void>,
  ) {}

  static async open(): Promise<ActivityWorld> {
    const file = await aStoreFile();
    return new ActivityWorld(await openStore(file.location), file.remove);
  }

  async close(): Promise<void> {
    await this.store.close();
    await this.removeFile();
  }

  /** The activities of a worker whose one agent uses the model. */
  worker(
    model: LanguageModelV3 | Dependencies['modelOf'],
    over: Partial<AgentDefinition> = {},
    store = this.store,
  ): TestWorker {
    const agents = createAgents([{ name: AGENT, ...over }], 'test-model');
    const modelOf = typeof model === 'function' ? model : () => model;
    const activities = createActivities({
      store,
      agents,
      modelOf,
      workerInstance: 'worker-1',
      defaultZone: 'UTC',
      channels: new Set(['hook']),
    });
    const version = profileVersion(agents.get(AGENT)!.profile);
    return {
      callModel: (input = {}, task = {}) =>
        this.#run(activities.callModel, aModelCall({ profileVersion: version, ...input }), task),
      callTool: (input = {}, task = {}) => this.#run(activities.callTool, aToolCall(input), task),
    };
  }

  /** The store, with some of its methods replaced. */
  storeWith(over: Partial<SessionStore>): SessionStore {
    const methodOf = (name: keyof SessionStore) => over[name] ?? this.store[name].bind(this.store);
    return new Proxy(this.store, { get: (_, name) => methodOf(name as keyof SessionStore) });
  }

  journal() {
    return journal(this.store);
  }

  #run<Input, Result>(activity: (input: Input) => Promise<Result>, input: Input, task: Task): RunningTask<Result> {
    const { attempt = 1, taskToken = `task ${++this.#tasks}`, heartbeatTimeoutMs, client } = task;
    const info = {
      attempt,
      taskToken: Buffer.from(taskToken),
      base64TaskToken: Buffer.from(taskToken).toString('base64'),
    };
    const environment = new MockActivityEnvironment(info, {
      logger: recording(this.logged),
      ...(client ? { client } : {}),
    });
    const startedMs = Date.now();
    let deadlineMs = startedMs + (heartbeatTimeoutMs ?? LONGEST_TASK_MS);
    const running: RunningTask<Result> = {
      heartbeats: [],
      hasEnded: false,
      end: Promise.resolve({ tookMs: 0 }),
      cancel: environment.cancel,
    };
    environment.on('heartbeat', (details: Progress) => {
      running.heartbeats.push({ atMs: Date.now(), details });
      if (heartbeatTimeoutMs !== undefined) deadlineMs = Date.now() + heartbeatTimeoutMs;
    });
    const server = setInterval(() => {
      if (heartbeatTimeoutMs !== undefined && Date.now() > deadlineMs) environment.cancel('TIMED_OUT');
    }, 10);
    const ended = environment.run(activity as ActivityFunction<[Input], Result>, input).then(
      (result) => ({ result: result as Result, tookMs: Date.now() - startedMs }),
      (failure: Error) => ({ failure, tookMs: Date.now() - startedMs }),
    );
    running.end = within(ended, `the end of the task "${taskToken}"`).finally(() => {
      running.hasEnded = true;
      clearInterval(server);
    });
    running.end.catch(() => undefined);
    return running;
  }
}

export interface TestWorker {
  callModel(input?: Partial<CallModelInput>, task?: Task): RunningTask<CallModelResult>;
  callTool(input?: Partial<CallToolInput>, task?: Task): RunningTask<{ ok: boolean }>;
}

export function aModelCall(over: Partial<CallModelInput> = {}): CallModelInput {
  return {
    sessionId: SESSION,
    chain: 'chain-1',
    agent: AGENT,
    turnId: 't1',
    callId: 't1.1',
    dispatch: 1,
    head: null,
    append: [aMessage('m1', 'hello')],
    outputs: [],
    profileVersion: '',
    settlement: {
      source: { kind: 'message', key: 'm1' },
      silent: false,
      startedAtMs: 1_000,
      usage: UNKNOWN_USAGE,
      items: [{ itemId: 'm1', contentHash: 'hash of hello' }],
      queued: 0,
    },
    ...over,
  };
}

export function aToolCall(over: Partial<CallToolInput> = {}): CallToolInput {
  const ids = { callId: 't1.1', toolCallId: 't1.1.t1' };
  return { sessionId: SESSION, agent: AGENT, turnId: 't1', ...ids, name: 'clock', ...over };
}

/** What a completed call came to. */
export async function answerOf(task: RunningTask<CallModelResult>): Promise<AnsweredResult> {
  const { result, failure } = await task.end;
  if (result && result.kind !== 'repeated') return result;
  throw new Error(`expected an answer, got ${result?.kind ?? String(failure)}`, { cause: failure });
}

/** The tools that a completed call asks for. */
export async function toolCallsOf(task: RunningTask<CallModelResult>): Promise<ToolCallRef[]> {
  const answer = await answerOf(task);
  if (answer.kind === 'toolCalls') return answer.toolCalls;
  throw new Error(`expected tool calls, got the end of the turn: ${answer.outcome}`);
}

export interface SeenFailure extends FailureDetails {
  type: FailureType;
  retryable: boolean;
  message: string;
}

/** The typed failure that a task ended with. */
export async function failureOf(task: RunningTask<unknown>): Promise<SeenFailure> {
  const { failure, result } = await task.end;
  if (!(failure instanceof ApplicationFailure)) {
    throw new Error(`expected a typed failure, got ${failure ? String(failure) : JSON.stringify(result)}`, {
      cause: failure,
    });
  }
  const details = failure.details![0] as FailureDetails;
  return { ...details, type: failure.type as FailureType, retryable: !failure.nonRetryable, message: failure.message };
}

/** The promise, or a failure that says what was waited for. */
export async function within<T>(promise: Promise<T>, what: string, limitMs = LONGEST_TASK_MS): Promise<T> {
  const limit = new AbortController();
  const late = delay(limitMs, undefined, { signal: limit.signal }).then(() => {
    throw new Error(`Waited ${limitMs} ms in vain for: ${what}`);
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([promise, late]);
  } finally {
    limit.abort();
  }
}

function recording(lines: string[]): Logger {
  const write = (level: string) => (message: string, meta?: unknown) => {
    lines.push(`${level} ${message} ${described(meta)}`);
  };
  const log = (level: string, message: string, meta?: unknown) => write(level)(message, meta);
  return {
    log,
    trace: write('TRACE'),
    debug: write('DEBUG'),
    info: write('INFO'),
    warn: write('WARN'),
    error: write('ERROR'),
  };
}

/** Errors included, with all that hangs on them. */
function described(meta: unknown): string {
  return JSON.stringify(meta, (_key, value: unknown) =>
    value instanceof Error
      ? { ...value, name: value.name, message: value.message, stack: value.stack }
      : typeof value === 'bigint'
        ? String(value)
        : value,
  );
}

/** A tool for tests, without an effect. */
export function aTool(over: Partial<ToolDefinition> & Pick<ToolDefinition, 'input'>): ToolDefinition {
  return { name: 'clock', description: 'A tool of a test.', run: () => 'done', ...over };
}
