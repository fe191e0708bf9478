import type { AppendItem } from '../../protocol/calls.js';
import type { StopAnswer } from '../../protocol/session-input.js';
import type { Change } from './effects.js';
import { unchanged } from './effects.js';
import type { Moment } from './events.js';
import type { SessionState, Turn } from './state.js';
import { toResults } from './tools.js';
import { settle } from './turns.js';

/**
 * Ends the running turn, wherever it stands, as `aborted`. It holds nothing from this moment: what its calls still report changes
 * nothing, what waits runs next, steers that had not joined first. A stop that names another turn changes nothing.
 */
export function stop(state: SessionState, turnId: string | null, moment: Moment): Change {
  const { turn } = state;
  if (!turn || !isMeant(turn, turnId)) return unchanged(state);
  const ids = idsInFlight(turn);
  return {
    state: settle(
      { ...state, turn: cutOff(turn) },
      moment.nowMs,
      'aborted',
      `stopped on request while ${whatRan(turn)}`,
    ),
    effects: ids.length === 0 ? [] : [{ kind: 'cancelCalls', ids }],
  };
}

/** What to tell whoever asked, from the state before the stop. */
export function answerStop({ turn, queue, draining, lastOutcome }: SessionState, turnId: string | null): StopAnswer {
  if (turn && isMeant(turn, turnId)) {
    const [next] = draining ? [] : [...turn.steers, ...queue];
    return { kind: 'stopped', turnId: turn.id, next: next?.message.id ?? null };
  }
  const isLast = lastOutcome !== null && (turnId === null || turnId === lastOutcome.turnId);
  return isLast ? { kind: 'nothing_running', ended: lastOutcome.turnId } : { kind: 'nothing_running' };
}

const isMeant = (turn: Turn, turnId: string | null): boolean => turnId === null || turnId === turn.id;

function idsInFlight({ step }: Turn): string[] {
  if (step.kind === 'calling') return [step.call.callId];
  return step.kind === 'tools' ? step.calls.filter((call) => !call.done).map((call) => call.toolCallId) : [];
}

/** What the next turn's first call adds to the transcript: what this one had said so far, and what became of its tools. */
function cutOff(turn: Turn): Turn {
  const { step } = turn;
  if (step.kind === 'toDispatch') return turn;
  if (step.kind === 'tools') return { ...turn, next: toResults(step.calls, STOPPED), step: { kind: 'toDispatch' } };
  const { call } = step;
  const interrupted: AppendItem = { kind: 'interruptedCall', callId: call.callId };
  return { ...turn, step: { ...step, call: { ...call, append: [...call.append, interrupted] } } };
}

const STOPPED = 'its turn was stopped';

function whatRan({ step }: Turn): string {
  switch (step.kind) {
    case 'toDispatch':
      return 'between two steps';
    case 'calling':
      return 'the model was being asked';
    case 'waiting':
      return step.why === 'model_busy' ? 'waiting for the provider' : 'waiting for the session store';
    case 'tools':
      return `running ${step.calls.map((call) => call.name).join(', ')}`;
  }
}
