import { budgetsOfLink, type Stall } from '../../protocol/liveness.js';
import type { CallFailure, Moment } from './events.js';
import { linkOf } from './fallback.js';
import type { Call, SessionState } from './state.js';

/** Tries that the next dispatch of a call may use: the first, and what is left of the turn's resumes. */
export function triesLeft({ profile, turn }: SessionState): number {
  return 1 + Math.max(0, profile.resumesPerTurn - turn!.used.resumes);
}

/** The call with the tries of the dispatch that failed added to those before; one that was refused is none. */
export function withTries(state: SessionState, call: Call, { type, attempt }: CallFailure): Call {
  const attempts = attempt ?? triesLeft(state);
  return { ...call, tries: (call.tries ?? 0) + attempts - (REFUSALS.has(type) ? 1 : 0) };
}

/** The provider did no work, or was not asked. */
const REFUSALS: ReadonlySet<CallFailure['type']> = new Set([
  'ModelBusy',
  'ProfileChanged',
  'StaleTry',
  'AgentUnavailable',
  'ScheduleToStartTimeout',
]);

interface Silence {
  /** That the call was dispatched from. */
  state: SessionState;
  call: Call;
  moment: Moment;
}

/** The failure of a call that fell silent once more than its resumes allow, with how it did; any other as it is. */
export function explained(failure: CallFailure, silence: Silence): CallFailure {
  if (failure.type !== 'HeartbeatTimeout') return failure;
  const stall = toStall(failure, silence);
  return { ...failure, stall, message: describe(stall) };
}

/** The turn that ends by it. */
export function withStall(state: SessionState, { stall }: CallFailure): SessionState {
  return stall ? { ...state, turn: { ...state.turn!, stall } } : state;
}

function toStall({ progress }: CallFailure, { state, call, moment }: Silence): Stall {
  const isOfLastTry = progress?.try?.dispatch === call.dispatch && progress.try.attempt === triesLeft(state);
  const { streaming } = budgetsOfLink(state.profile, linkOf(state));
  const { phase = null, budgetMs = streaming } = isOfLastTry ? progress : {};
  const elapsedMs = moment.nowMs - (call.sinceMs ?? state.turn!.startedAtMs);
  return { phase, budgetMs, tries: call.tries ?? 1, elapsedMs };
}

function describe({ phase, budgetMs, tries, elapsedMs }: Stall): string {
  const where = phase === null ? 'before its first sign' : `in phase "${phase}"`;
  const times = tries === 1 ? 'its only try' : `the last of ${tries} tries`;
  return `the model was silent for ${seconds(budgetMs)} ${where}, in ${times}; the call took ${seconds(elapsedMs)}`;
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;
