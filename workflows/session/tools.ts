import type { AppendItem, ToolCallRef } from '../../protocol/calls.js';
import type { Change, Effect } from './effects.js';
import { unchanged } from './effects.js';
import type { CallFailure } from './events.js';
import type { SessionState, ToolStep } from './state.js';

/** Starts every tool call of a completed model call, in parallel. */
export function dispatchTools(state: SessionState, refs: ToolCallRef[]): Change {
  const turn = state.turn!;
  const calls = refs.map((ref): ToolStep => ({ ...ref, done: false, lost: null }));
  const callId = `${turn.id}.${turn.callCount}`;
  const effects = refs.map(({ toolCallId, name, heartbeatTimeoutMs, maximumAttempts }): Effect => ({
    kind: 'callTool',
    input: { sessionId: state.sessionId, agent: state.agent, turnId: turn.id, callId, toolCallId, name },
    heartbeatTimeoutMs,
    maximumAttempts,
  }));
  return { state: { ...state, turn: { ...turn, step: { kind: 'tools', calls } } }, effects };
}

export function onToolFinished(state: SessionState, toolCallId: string): Change {
  return unchanged(endTool(state, toolCallId, null));
}

/** A tool that did not report leaves an unknown outcome, which the model is told; the turn goes on. */
export function onToolFailed(state: SessionState, toolCallId: string, failure: CallFailure): Change {
  return unchanged(endTool(state, toolCallId, failure.message));
}

/**
 * When the last call has ended, the results go into the next model call in the order the model made the calls. A call ends once;
 * a second report changes nothing.
 */
function endTool(state: SessionState, toolCallId: string, lost: string | null): SessionState {
  const { turn } = state;
  if (turn?.step.kind !== 'tools') return state;
  const calls = turn.step.calls.map((call) =>
    call.toolCallId === toolCallId && !call.done ? { ...call, done: true, lost } : call,
  );
  if (calls.some((call) => !call.done)) return { ...state, turn: { ...turn, step: { kind: 'tools', calls } } };
  return { ...state, turn: { ...turn, next: toResults(calls, null), step: { kind: 'toDispatch' } } };
}

/** In the order the model made the calls. `cutOff` says why calls that have not ended are not waited for. */
export function toResults(calls: ToolStep[], cutOff: string | null): AppendItem[] {
  return calls.map(({ toolCallId, name, done, lost }) => ({
    kind: 'toolResult',
    toolCallId,
    name,
    lost: done ? lost : cutOff,
  }));
}
