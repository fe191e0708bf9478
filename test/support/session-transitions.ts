import type { SessionEvent } from '../../workflows/session/events.js';
import type { Transition } from '../../workflows/session/invariants.js';
import type { SessionState } from '../../workflows/session/state.js';
import { placeOf } from './session-builders.js';

/**
 * A transition in the words of docs/session-states.md: `from | event | how the turn ended | to`; `null` for one of a kind that the page
 * does not list because it never leads anywhere.
 */
export function toRow({ before, event, moment, after }: Transition): string | null {
  const from = placeOf(before);
  const to = placeOf(after);
  if (moment.rollOverDue) return `${from} | ${to}`;
  const name = nameOf(event, { before, after });
  const ended = endOf(event, { before, after });
  if (name === null && from === to && ended === '-') return null;
  return [from, name ?? event.kind, ended, to].join(' | ');
}

function callIsInFlight({ turn }: SessionState, { callId, dispatch }: { callId: string; dispatch: number }): boolean {
  const step = turn?.step;
  return step?.kind === 'calling' && step.call.callId === callId && step.call.dispatch === dispatch;
}

type Ends = Pick<Transition, 'before' | 'after'>;

function nameOf(event: SessionEvent, { before, after }: Ends): string | null {
  switch (event.kind) {
    case 'opened':
      return 'run opens';
    case 'signalReceived':
      return after.seen.length > before.seen.length || after.seen.at(-1)?.id !== before.seen.at(-1)?.id
        ? 'message'
        : null;
    case 'modelFinished':
      if (!callIsInFlight(before, event)) return null;
      if (event.result.kind === 'repeated') return 'opener is a repeat';
      return event.result.kind === 'toolCalls' ? 'answer with tool calls' : 'final answer';
    case 'modelFailed':
      return callIsInFlight(before, event) ? event.failure.type : null;
    case 'toolFinished':
    case 'toolFailed': {
      if (before.turn === after.turn) return null;
      const hasNeverRun = event.kind === 'toolFailed' && event.failure.type === 'ScheduleToStartTimeout';
      return hasNeverRun ? 'ScheduleToStartTimeout' : 'tool ends';
    }
    case 'timerFired':
      return placeOf(before) === 'waiting' || before.turnCount !== after.turnCount ? 'timer fires' : null;
    case 'resumeRequested':
      return before.suspended ? 'resume' : null;
    case 'nudged':
      return placeOf(before) === placeOf(after) ? null : 'nudge';
    case 'stopRequested':
      return before.turn && before.turn.id !== after.turn?.id ? 'stop' : null;
    case 'drainRequested':
      return before.turn && !after.turn ? 'drain' : null;
    case 'undrainRequested':
      return placeOf(before) === placeOf(after) ? null : 'undrain';
    case 'closeRequested':
      return before.closed ? null : 'close';
    case 'wakeCancelRequested':
      return before.turn && before.turn.id !== after.turn?.id ? 'cancel of its wake' : null;
    case 'wakeScheduleRequested':
    case 'wakeEditRequested':
    case 'firesComputed':
    case 'sessionStarted':
    case 'deliveryEnded':
    case 'recorded':
      return null;
  }
}

function endOf(event: SessionEvent, { before, after }: Ends): string {
  const { turn } = before;
  if (turn === null || after.turn?.id === turn.id) return '-';
  if (event.kind === 'modelFinished' && event.result.kind === 'answered') return event.result.outcome;
  const outcomes = [...after.unrecorded.outcomes, ...(after.recording?.outcomes ?? [])];
  return outcomes.find((ended) => ended.turnId === turn.id)?.outcome ?? 'never began';
}
