import type { LanguageModelV3 } from '@ai-sdk/provider';
import type { z } from 'zod';
import type { PhaseBudgets, TurnLimits } from '../protocol/liveness.js';

/**
 * What a user writes an agent with.
 *
 * @example
 * export default defineAgent({
 *   name: 'ops',
 *   instructions: 'You watch the build.',
 *   tools: [defineTool({ name: 'clock', description: 'The time', input: z.object({}), run: () => new Date().toISOString() })],
 * });
 */
export interface AgentDefinition extends Partial<TurnLimits> {
  /** Letters, digits, `-` and `_`; sessions refer to the agent by it, so it stays. */
  name: string;
  /** A model specification as `VIGIL_MODEL` takes it, or a model object; without it, `VIGIL_MODEL` decides. */
  model?: string | LanguageModelV3;
  /**
   * Models to go on with, in this order, when the one before is busy, rejects the call or falls silent too often. Each has resumes of its
   * own; every turn begins with `model`.
   */
  fallbackModels?: (string | LanguageModelV3)[];
  /** The system prompt. */
  instructions?: string;
  tools?: ToolDefinition[];
  /** `false`: without the tools `schedule_wake`, `list_wakes` and `cancel_wake`, which every agent has, as for a model that takes no tools. */
  wakes?: boolean;
  /** Phase budgets in milliseconds that differ from the defaults, whatever the configuration says of this agent or its model. */
  budgetsMs?: Partial<PhaseBudgets>;
  /** Tries beyond the first that one turn's model calls may use; default 2. */
  resumesPerTurn?: number;
  /** Model calls of one turn; default 200. */
  stepsPerTurn?: number;
  /** Milliseconds that a call may wait for a worker before that is announced; default 60 s, at least 1 s. */
  scheduleToStartMs?: number;
  /** Milliseconds that one turn may wait for workers; default 30 min. */
  capacityWaitPerTurnMs?: number;
  /** Tokens that one model call may produce; default: the provider's. */
  maxOutputTokens?: number;
  /** Characters that one model call may produce; default 1,000,000. */
  outputCharsPerCall?: number;
}

// A list holds tools of any input; `any` is the one type under which a tool's own parameter type still fits.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export interface ToolDefinition<Input extends z.ZodType = any> {
  name: string;
  /** Told to the model. */
  description: string;
  /** Arguments are checked against it; what does not fit is an error result for the model, and `run` is not called. */
  input: Input;
  /** True when running twice does no harm: the call is then retried after a lost worker. Default false. */
  idempotent?: boolean;
  /** In a turn that a wake or a reminder started: `run`, the default, or `refuse`, with a result for the model. Nobody is asked then. */
  onAutomation?: 'run' | 'refuse';
  /** Milliseconds that the tool may stay silent; default 60 s. Call `progress` more often than that. */
  silenceMs?: number;
  /** Returns text, or a value that becomes JSON. A thrown error becomes an error result for the model. */
  run(input: z.output<Input>, context: ToolContext): unknown;
}

export interface ToolContext {
  sessionId: string;
  turnId: string;
  toolCallId: string;
  /** Aborts when the turn no longer wants the result. */
  signal: AbortSignal;
  /** Tells that the work goes on. */
  progress(note?: string): void;
}

export function defineAgent(agent: AgentDefinition): AgentDefinition {
  return agent;
}

export function defineTool<Input extends z.ZodType>(tool: ToolDefinition<Input>): ToolDefinition<Input> {
  return tool;
}
