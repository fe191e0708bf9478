import { sourceOf } from '../../protocol/fates.js';
import { TOTAL_LIMIT_MS, worstSilenceMs } from '../../protocol/liveness.js';
import type { SessionView, TurnView } from '../../protocol/view.js';
import { statusOf } from './advance.js';
import { whyOf } from './occurrences.js';
import { toWakeView } from './wakes.js';
import type { SessionState, ToolStep, Turn, WaitReason } from './state.js';

/** What the `state` query answers. */
export function toView(state: SessionState, historyEvents: number): SessionView {
  const { sessionId, agent, suspended, draining, head, usage, lastOutcome, model, profile } = state;
  const inFlight = state.recording?.outcomes.length ?? 0;
  return {
    sessionId,
    agent,
    status: statusOf(state),
    suspended,
    draining,
    turn: state.turn ? toTurnView(state.turn, state) : null,
    queue: state.queue.map(({ message: { id } }) => ({ id, kind: sourceOf(id).kind })),
    wakes: state.wakes.map((wake) => toWakeView(state, wake)),
    head,
    turns: state.turnCount,
    usage,
    lastOutcome,
    channel: state.channel,
    deliveries: state.deliveries.length,
    unrecorded: state.unrecorded.outcomes.length + inFlight,
    model,
    profile,
    worstSilenceMs: worstSilenceMs(profile),
    totalLimitMs: TOTAL_LIMIT_MS,
    historyEvents,
  };
}

function toTurnView(turn: Turn, { profile }: SessionState): TurnView {
  const { used } = turn;
  return {
    turnId: turn.id,
    source: turn.source,
    why: whyOf(turn.source),
    startedAtMs: turn.startedAtMs,
    step: stepText(turn),
    items: [...turn.itemIds, ...turn.steers.map((item) => item.message.id)],
    lastProgress: turn.progress ?? { kind: 'turn_started', phase: null, atMs: turn.startedAtMs },
    budgets: {
      resumes: { used: used.resumes, limit: profile.resumesPerTurn },
      steps: { used: turn.callCount, limit: profile.stepsPerTurn },
      redispatches: { used: used.redispatches, limit: profile.redispatchesPerTurn },
      providerWaitMs: { used: used.providerWaitMs, limit: profile.providerWaitPerTurnMs },
      capacityWaitMs: { used: used.capacityWaitMs, limit: profile.capacityWaitPerTurnMs },
    },
  };
}

function stepText({ step }: Turn): string {
  switch (step.kind) {
    case 'toDispatch':
      return 'about to call the model';
    case 'calling':
      return `model call ${step.call.callId}, dispatch ${step.call.dispatch}${step.lackedCapacity ? NO_WORKER : ''}`;
    case 'waiting':
      return `waiting for ${AWAITED[step.why]} until ${new Date(step.untilMs).toISOString()}`;
    case 'tools':
      return `tools: ${step.calls.map(toolText).join(', ')}`;
  }
}

/** The session hears of a start only when the call ends, so a worker may have it by now. */
const NO_WORKER = ' (waiting for capacity: no worker took the dispatch before)';

const AWAITED: Readonly<Record<WaitReason, string>> = {
  model_busy: 'the provider',
  store_unavailable: 'the session store',
};

function toolText({ name, done, dispatch }: ToolStep): string {
  if (done) return `${name} (done)`;
  return dispatch > 1 ? `${name}${NO_WORKER}` : name;
}
