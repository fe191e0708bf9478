import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import { FAILURE_TYPES, type FailureDetails, type FailureType } from '../protocol/failures.js';
import { DEFAULT_PROFILE, type Profile } from '../protocol/liveness.js';
import type { CallFailure } from './session/events.js';

/** Reads what Temporal says of a failed activity. Branches on types only, never on message text. */
export function toCallFailure(error: unknown): CallFailure {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof TimeoutFailure) return fromTimeout(cause);
  if (cause instanceof ApplicationFailure) return fromApplicationFailure(cause);
  return failure('Unknown', cause instanceof Error ? cause.message : String(cause));
}

function fromTimeout(cause: TimeoutFailure): CallFailure {
  if (cause.timeoutType === 'SCHEDULE_TO_START') return neverStarted(cause);
  if (cause.timeoutType !== 'HEARTBEAT') return failure('OtherTimeout', `${cause.timeoutType} timeout`);
  const progress = cause.lastHeartbeatDetails ?? null;
  return failure('HeartbeatTimeout', 'no progress within the budget', { progress });
}

/** The attempt that no worker took; the one before it, if there was one, is the cause. */
function neverStarted({ cause }: TimeoutFailure): CallFailure {
  const attempt = cause === undefined ? 1 : attemptAfter(toCallFailure(cause));
  return failure('ScheduleToStartTimeout', 'no worker took the call', { attempt });
}

const attemptAfter = ({ attempt }: CallFailure): number | null => (attempt === null ? null : attempt + 1);

function fromApplicationFailure(cause: ApplicationFailure): CallFailure {
  const details = (cause.details?.[0] ?? {}) as Partial<FailureDetails>;
  const profile = cause.type === 'ProfileChanged' ? toProfile(cause.details?.[1] as Profile | undefined) : null;
  return failure(isFailureType(cause.type) ? cause.type : 'Unknown', cause.message, {
    attempt: details.attempt ?? null,
    phase: details.phase ?? null,
    retryAfterMs: details.retryAfterMs ?? null,
    inputAtFault: details.inputAtFault === true,
    losses: details.losses ?? 0,
    profile,
  });
}

/** A worker of an older version does not say all of it. */
function toProfile(profile: Profile | undefined): Profile | null {
  return profile ? { ...DEFAULT_PROFILE, ...profile } : null;
}

function failure(type: CallFailure['type'], message: string, rest: Partial<CallFailure> = {}): CallFailure {
  return {
    type,
    message,
    attempt: null,
    phase: null,
    retryAfterMs: null,
    inputAtFault: false,
    profile: null,
    progress: null,
    losses: 0,
    ...rest,
  };
}

function isFailureType(type: string | null | undefined): type is FailureType {
  return (FAILURE_TYPES as readonly (string | null | undefined)[]).includes(type);
}
