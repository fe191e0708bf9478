import { Context } from '@temporalio/activity';
import type { z } from 'zod';
import type { CallToolInput, CallToolResult } from '../protocol/calls.js';
import type { AssistantPart, ToolResult } from '../store/session-store.js';
import type { ToolContext, ToolDefinition } from './agent.js';
import { AgentUnavailableError } from './activity-errors.js';
import { messageOf, toFailure } from './classify-error.js';
import type { Dependencies } from './dependencies.js';

type ToolCall = Extract<AssistantPart, { kind: 'toolCall' }>;

/**
 * The `callTool` activity. Everything that goes wrong in or around the tool becomes a result for the model; only a lost worker, a
 * store that does not answer or a cancel fails the activity.
 */
export function createCallTool(dependencies: Dependencies) {
  return async function callTool(input: CallToolInput): Promise<CallToolResult> {
    const context = Context.current();
    try {
      return { ok: (await runOnce(dependencies, input, context)).ok };
    } catch (error) {
      throw toFailure(error, { attempt: context.info.attempt, phase: null, signal: context.cancellationSignal });
    }
  };
}

async function runOnce(dependencies: Dependencies, input: CallToolInput, context: Context): Promise<ToolResult> {
  const { store, agents, workerInstance } = dependencies;
  const agent = agents.get(input.agent);
  if (!agent) throw new AgentUnavailableError(`agent "${input.agent}" is not defined on this worker`);
  const tool = agent.tools.get(input.name);
  const call = await findCall(dependencies, input);
  const { sessionId, turnId, callId, toolCallId, name } = input;
  const begun = await store.beginTool({
    ...{ sessionId, turnId, callId, toolCallId, name },
    attempt: context.info.attempt,
    idempotent: tool?.idempotent ?? false,
    input: call.input,
    workerInstance,
    taskToken: Buffer.from(context.info.taskToken).toString('base64'),
  });
  if (begun.kind === 'finished') return begun.result;
  const result = begun.kind === 'unknown' ? OUTCOME_UNKNOWN : await runTool(tool, call, input, context);
  await store.finishTool({ sessionId, turnId, toolCallId, name, result });
  return result;
}

const OUTCOME_UNKNOWN: ToolResult = {
  ok: false,
  output: 'The outcome of this call is unknown: it began, and its worker was lost. Do not repeat it without checking.',
};

async function findCall({ store }: Dependencies, { sessionId, callId, toolCallId }: CallToolInput): Promise<ToolCall> {
  const entry = await store.findEntry(sessionId, `${callId}.out`);
  const parts = entry?.content.kind === 'assistant' ? entry.content.parts : [];
  const call = parts.find((part): part is ToolCall => part.kind === 'toolCall' && part.toolCallId === toolCallId);
  if (!call) throw new Error(`the transcript holds no tool call ${toolCallId}`);
  return call;
}

async function runTool(
  tool: ToolDefinition | undefined,
  call: ToolCall,
  { sessionId, turnId, toolCallId, name }: CallToolInput,
  context: Context,
): Promise<ToolResult> {
  if (!tool) return { ok: false, output: `There is no tool "${name}".` };
  const args = parseArguments(tool, call.input);
  if ('problem' in args) return { ok: false, output: args.problem };
  const signal = context.cancellationSignal;
  const progress: ToolContext['progress'] = (note) => context.heartbeat({ note: note ?? null });
  try {
    const value: unknown = await tool.run(args.value, { sessionId, turnId, toolCallId, signal, progress });
    return { ok: true, output: toText(value) };
  } catch (error) {
    if (signal.aborted) throw error;
    return { ok: false, output: `The tool failed: ${messageOf(error)}` };
  }
}

function parseArguments(tool: ToolDefinition, input: string): { value: unknown } | { problem: string } {
  let json: unknown;
  try {
    json = input.trim() === '' ? {} : JSON.parse(input);
  } catch (error) {
    return { problem: `The arguments are not JSON: ${messageOf(error)}` };
  }
  const parsed = (tool.input as z.ZodType).safeParse(json);
  if (parsed.success) return { value: parsed.data };
  const issues = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'arguments'}: ${issue.message}`);
  return { problem: `The arguments do not fit the tool: ${issues.join('; ')}` };
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === undefined ? 'done' : (JSON.stringify(value) ?? 'done');
}
