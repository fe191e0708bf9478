import type { AppendItem, ToolCallRef } from '../../protocol/calls.js';
import { lackOfCapacity, waitForCapacity } from './capacity.js';
import type { Change, Effect } from './effects.js';
import { unchanged } from './effects.js';
import type { CallFailure, Moment } from './events.js';
import type { SessionState, ToolStep } from './state.js';
import { isSuspect, KILLED_ITS_WORKER, tellOfSuspect } from './suspects.js';
import { isAutomated } from './turns.js';

/** Starts every tool call of a completed model call, in parallel. */
export function dispatchTools(state: SessionState, refs: ToolCallRef[]): Change {
  const calls = refs.map((ref): ToolStep => ({ ...ref, dispatch: 1, done: false, lost: null }));
  return { state: withTools(state, calls), effects: calls.map((call) => toEffect(state, call)) };
}

function toEffect(state: SessionState, call: ToolStep): Effect {
  const turn = state.turn!;
  const { toolCallId, name, dispatch, heartbeatTimeoutMs, maximumAttempts, isApart } = call;
  const callId = `${turn.id}.${turn.callCount}`;
  return {
    kind: 'callTool',
    input: {
      ...{ sessionId: state.sessionId, agent: state.agent, turnId: turn.id, callId, toolCallId, name },
      ...(isAutomated(turn) ? { isAutomated: true } : {}),
    },
    dispatch,
    scheduleToStartMs: state.profile.scheduleToStartMs,
    heartbeatTimeoutMs,
    maximumAttempts,
    ...(isApart ? { isApart } : {}),
  };
}

/** A report of a tool call. A call ends once, and each dispatch of it reports once: a second report changes nothing. */
interface Report {
  toolCallId: string;
  dispatch: number;
}

export function onToolFinished(state: SessionState, report: Report): Change {
  return unchanged(isInFlight(state, report) ? endTool(state, report, { lost: null }) : state);
}

/** A tool that did not report leaves an unknown outcome, which the model is told; the turn goes on. One that never ran goes out again. */
export function onToolFailed(state: SessionState, report: Report & { failure: CallFailure }, moment: Moment): Change {
  if (!isInFlight(state, report)) return unchanged(state);
  const { type, message } = report.failure;
  if (type === 'ScheduleToStartTimeout') return awaitWorker(state, report, moment);
  if (isSuspect(report.failure) && !state.draining) return runApart(state, report);
  return unchanged(endTool(state, report, { lost: message }));
}

/** Only what may be repeated is, and only once more. */
function runApart(state: SessionState, report: Report): Change {
  const { name, isApart, maximumAttempts } = callOf(state, report);
  if (isApart || maximumAttempts === 1) return unchanged(endTool(state, report, { lost: KILLED_ITS_WORKER }));
  return dispatchAgain(tellOfSuspect(state, `the tool ${name}`), report, { isApart: true });
}

/** Nothing ran, so that even a tool that must not be repeated may go out again. Not while the session drains: nothing does then. */
function awaitWorker(state: SessionState, report: Report, moment: Moment): Change {
  if (state.draining) return unchanged(endTool(state, report, { lost: 'the session drains', neverRan: true }));
  const waiting = waitForCapacity(state, moment);
  if (!waiting) return unchanged(endTool(state, report, { lost: lackOfCapacity(state), neverRan: true }));
  return dispatchAgain(waiting, report, {});
}

function dispatchAgain(state: SessionState, report: Report, over: Pick<ToolStep, 'isApart'>): Change {
  const next = withTools(state, changed(toolsOf(state), report, { ...over, dispatch: report.dispatch + 1 }));
  return { state: next, effects: [toEffect(next, callOf(next, report))] };
}

function isInFlight(state: SessionState, { toolCallId, dispatch }: Report): boolean {
  return toolsOf(state).some((call) => call.toolCallId === toolCallId && call.dispatch === dispatch && !call.done);
}

function toolsOf({ turn }: SessionState): ToolStep[] {
  return turn?.step.kind === 'tools' ? turn.step.calls : [];
}

function callOf(state: SessionState, { toolCallId }: Report): ToolStep {
  return toolsOf(state).find((call) => call.toolCallId === toolCallId)!;
}

function changed(calls: ToolStep[], { toolCallId }: Report, over: Partial<ToolStep>): ToolStep[] {
  return calls.map((call) => (call.toolCallId === toolCallId ? { ...call, ...over } : call));
}

function withTools(state: SessionState, calls: ToolStep[]): SessionState {
  return { ...state, turn: { ...state.turn!, step: { kind: 'tools', calls } } };
}

/** When the last call has ended, the results go into the next model call in the order the model made the calls. */
function endTool(state: SessionState, report: Report, end: Pick<ToolStep, 'lost' | 'neverRan'>): SessionState {
  const calls = changed(toolsOf(state), report, { ...end, done: true });
  if (calls.some((call) => !call.done)) return withTools(state, calls);
  return { ...state, turn: { ...state.turn!, next: toResults(calls, null), step: { kind: 'toDispatch' } } };
}

/** In the order the model made the calls. `cutOff` says why calls that have not ended are not waited for. */
export function toResults(calls: ToolStep[], cutOff: string | null): AppendItem[] {
  return calls.map(({ toolCallId, name, done, lost, neverRan }) => ({
    kind: 'toolResult',
    toolCallId,
    name,
    lost: done ? lost : cutOff,
    ...(neverRan ? { neverRan } : {}),
  }));
}
