import type { Stall } from '../../protocol/liveness.js';
import type { CallFailure, Moment } from './events.js';
import type { Call, SessionState } from './state.js';
import { settle } from './turns.js';

/** Tries that the next dispatch of a call may use: the first, and what is left of the turn's resumes. */
export function triesLeft({ profile, turn }: SessionState): number {
  return 1 + Math.max(0, profile.resumesPerTurn - turn!.used.resumes);
}

/** The call with the tries of the dispatch that failed added to those before. */
export function withTries(state: SessionState, call: Call, failure: CallFailure): Call {
  if (NEVER_BEGAN.has(failure.type)) return call;
  return { ...call, tries: (call.tries ?? 0) + (failure.attempt ?? triesLeft(state)) };
}

/** Refused at the door. */
const NEVER_BEGAN: ReadonlySet<CallFailure['type']> = new Set(['ProfileChanged', 'StaleTry', 'AgentUnavailable']);

/** Ends a turn whose call fell silent once more than its resumes allow. `before` is the state that the call was dispatched from. */
export function timeOut(
  charged: SessionState,
  { before, call, failure, moment }: { before: SessionState; call: Call; failure: CallFailure; moment: Moment },
): SessionState {
  const stall = toStall(before, call, failure, moment);
  const turn = { ...charged.turn!, stall };
  return settle({ ...charged, turn }, moment.nowMs, 'timeout', describe(stall));
}

function toStall(before: SessionState, call: Call, { progress }: CallFailure, { nowMs }: Moment): Stall {
  const isOfLastTry = progress?.try?.dispatch === call.dispatch && progress.try.attempt === triesLeft(before);
  const { phase = null, budgetMs = before.profile.budgetsMs.streaming } = isOfLastTry ? progress : {};
  const elapsedMs = nowMs - (call.sinceMs ?? before.turn!.startedAtMs);
  return { phase, budgetMs, tries: call.tries ?? 1, elapsedMs };
}

function describe({ phase, budgetMs, tries, elapsedMs }: Stall): string {
  const where = phase === null ? 'before its first sign' : `in phase "${phase}"`;
  const times = tries === 1 ? 'its only try' : `the last of ${tries} tries`;
  return `the model was silent for ${seconds(budgetMs)} ${where}, in ${times}; the call took ${seconds(elapsedMs)}`;
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;
