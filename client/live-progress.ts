import type { WorkflowExecutionDescription } from '@temporalio/client';
import { arrayFromPayloads, defaultPayloadConverter } from '@temporalio/common';
import { PHASES, type Progress } from '../protocol/liveness.js';
import type { SessionView, TurnProgress } from '../protocol/view.js';

/**
 * The view with what the running model call told the server by its newest heartbeat: the workflow itself hears of a call only when it
 * ends. `raw` is Temporal's description of the session's workflow, asked for after the view.
 */
export function withLiveProgress(view: SessionView, { raw }: Pick<WorkflowExecutionDescription, 'raw'>): SessionView {
  const call = raw.pendingActivities?.find(({ activityType }) => activityType?.name === 'callModel');
  const details = arrayFromPayloads(defaultPayloadConverter, call?.heartbeatDetails?.payloads);
  const progress = toProgress(details[0]);
  if (!view.turn || !progress || progress.atMs < view.turn.lastProgress.atMs) return view;
  return { ...view, turn: { ...view.turn, lastProgress: progress } };
}

/** Whatever a heartbeat carries, it must not keep anyone from seeing the rest. */
function toProgress(details: unknown): TurnProgress | null {
  const { phase, atMs, charsReceived } = (details ?? {}) as Partial<Progress>;
  if (phase === undefined || !PHASES.includes(phase) || typeof atMs !== 'number') return null;
  return { kind: charsReceived ? 'content' : 'call_started', phase, atMs };
}
