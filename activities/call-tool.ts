import { Context } from '@temporalio/activity';
import type { z } from 'zod';
import type { CallToolInput, CallToolResult } from '../protocol/calls.js';
import { LIMITS } from '../protocol/limits.js';
import { assistantEntryId, type AssistantPart, type LiveCall, type ToolResult } from '../store/session-store.js';
import type { ToolContext, ToolDefinition } from './agent.js';
import { AgentUnavailableError, ToolRefusal } from './activity-errors.js';
import { messageOf, toFailure } from './classify-error.js';
import type { ClosedCallWatch } from './closed-call-watch.js';
import type { Dependencies } from './dependencies.js';
import { withoutSecrets } from './models.js';
import { unlessAborted } from './read-stream.js';

type ToolCall = Extract<AssistantPart, { kind: 'toolCall' }>;

/**
 * The `callTool` activity. Everything that goes wrong in or around the tool becomes a result for the model; only a lost worker, a
 * store that does not answer or a cancel fails the activity.
 */
export function createCallTool(dependencies: Dependencies, watch: ClosedCallWatch) {
  return async function callTool(input: CallToolInput): Promise<CallToolResult> {
    const context = Context.current();
    try {
      return { ok: (await runOnce({ ...dependencies, watch }, input, context)).ok };
    } catch (error) {
      throw toFailure(error, { attempt: context.info.attempt, phase: null, signal: context.cancellationSignal });
    }
  };
}

type Watching = Dependencies & { watch: ClosedCallWatch };

async function runOnce(dependencies: Watching, input: CallToolInput, context: Context): Promise<ToolResult> {
  const { store, agents, workerInstance } = dependencies;
  const agent = agents.get(input.agent);
  if (!agent) throw new AgentUnavailableError(`agent "${input.agent}" is not defined on this worker`);
  const tool = agent.tools.get(input.name);
  const call = await findCall(dependencies, input);
  const { sessionId, turnId, callId, toolCallId, name } = input;
  const taskToken = Buffer.from(context.info.taskToken).toString('base64');
  const begun = await store.beginTool({
    ...{ sessionId, turnId, callId, toolCallId, name },
    attempt: context.info.attempt,
    idempotent: tool?.idempotent ?? false,
    input: call.input,
    workerInstance,
    taskToken,
  });
  if (begun.kind === 'finished') return begun.result;
  const live = { kind: 'callTool', sessionId, turnId, toolCallId, attempt: context.info.attempt, taskToken } as const;
  const result =
    begun.kind === 'unknown'
      ? OUTCOME_UNKNOWN
      : await whileWanted(dependencies.watch, live, context, (signal) =>
          runTool(tool, call, { input, context, signal }),
        );
  await store.finishTool({ sessionId, turnId, toolCallId, name, result });
  return result;
}

/** The signal aborts when the server cancels the task, and when the store says that nobody waits for the call any more. */
async function whileWanted<Result>(
  watch: ClosedCallWatch,
  call: LiveCall,
  { cancellationSignal }: Context,
  run: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const unwanted = new AbortController();
  const unwatch = watch.enter(call, (why) => unwanted.abort(why));
  try {
    return await run(AbortSignal.any([cancellationSignal, unwanted.signal]));
  } finally {
    unwatch();
  }
}

const OUTCOME_UNKNOWN: ToolResult = {
  ok: false,
  output: 'The outcome of this call is unknown: it began, and its worker was lost. Do not repeat it without checking.',
};

async function findCall({ store }: Dependencies, { sessionId, callId, toolCallId }: CallToolInput): Promise<ToolCall> {
  const entry = await store.findEntry(sessionId, assistantEntryId(callId));
  const parts = entry?.content.kind === 'assistant' ? entry.content.parts : [];
  const call = parts.find((part): part is ToolCall => part.kind === 'toolCall' && part.toolCallId === toolCallId);
  if (!call) throw new Error(`the transcript holds no tool call ${toolCallId}`);
  return call;
}

async function runTool(
  tool: ToolDefinition | undefined,
  call: ToolCall,
  { input, context, signal }: { input: CallToolInput; context: Context; signal: AbortSignal },
): Promise<ToolResult> {
  const { sessionId, turnId, toolCallId, name } = input;
  if (!tool) return failed(`There is no tool "${name}".`);
  if (input.isAutomated && tool.onAutomation === 'refuse') return failed(automationRefusal(name));
  const args = await parseArguments(tool, call.input);
  if ('problem' in args) return failed(args.problem);
  const heart = new ToolHeart(context);
  const toolContext: ToolContext = { sessionId, turnId, toolCallId, signal, progress: (note) => heart.beat(note) };
  try {
    signal.throwIfAborted();
    // A tool that does not heed the signal is left behind: its result is not wanted, and the worker needs the slot.
    return toResult(await unlessAborted(Promise.resolve(tool.run(args.value, toolContext)), signal));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof ToolRefusal) return failed(error.message);
    return failed(`The tool failed: ${messageOf(error)}`);
  } finally {
    heart.stop();
  }
}

function automationRefusal(name: string): string {
  return `The tool "${name}" is refused in a turn that a wake or a reminder started, because nobody is there to answer for it. Say what it would be needed for, so that a person can ask for it.`;
}

/** Tells the server of a tool's progress, and nothing more once the tool has ended. */
class ToolHeart {
  private isStopped = false;

  constructor(private readonly context: Context) {}

  beat(note: unknown): void {
    if (this.isStopped) return;
    this.context.heartbeat({ note: note === undefined ? null : String(note).slice(0, LIMITS.reasonChars) });
  }

  stop(): void {
    this.isStopped = true;
  }
}

async function parseArguments(tool: ToolDefinition, input: string): Promise<{ value: unknown } | { problem: string }> {
  let json: unknown;
  try {
    json = input.trim() === '' ? {} : JSON.parse(input);
  } catch (error) {
    return { problem: `The arguments are not JSON: ${messageOf(error)}` };
  }
  try {
    const parsed = await (tool.input as z.ZodType).safeParseAsync(json);
    if (parsed.success) return { value: parsed.data };
    const issues = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'arguments'}: ${issue.message}`);
    return { problem: `The arguments do not fit the tool: ${issues.join('; ')}` };
  } catch (error) {
    return { problem: `The arguments could not be checked: ${messageOf(error)}` };
  }
}

const failed = (message: string): ToolResult => ({ ok: false, output: withoutSecrets(message) });

/** Text as it is, anything else as JSON. The tool has done its work: a value that JSON cannot hold must not look as if it had not. */
function toResult(value: unknown): ToolResult {
  if (typeof value === 'string') return { ok: true, output: value };
  try {
    return { ok: true, output: JSON.stringify(value, bigIntAsText) ?? 'done' };
  } catch (error) {
    return failed(
      `The tool ran to its end, but its result cannot be shown: ${messageOf(error)}. Do not repeat it without checking.`,
    );
  }
}

function bigIntAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
