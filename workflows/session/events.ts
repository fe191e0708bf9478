import { SIGNAL } from '../../protocol/names.js';
import type { CallModelResult } from '../../protocol/calls.js';
import type { Delivery } from '../../protocol/channels.js';
import type { FailureType } from '../../protocol/failures.js';
import type { Profile, Progress, Stall } from '../../protocol/liveness.js';
import type { ComputedFires } from '../../protocol/wakes.js';

/** What happened: the only input of `transition`. */
export type SessionEvent =
  /** A run begins, the first or one after a continue-as-new. */
  | { kind: 'opened' }
  | { kind: 'signalReceived'; name: string; args: unknown[] }
  | { kind: 'modelFinished'; callId: string; dispatch: number; result: CallModelResult }
  | { kind: 'modelFailed'; callId: string; dispatch: number; failure: CallFailure }
  | { kind: 'toolFinished'; toolCallId: string; dispatch: number }
  | { kind: 'toolFailed'; toolCallId: string; dispatch: number; failure: CallFailure }
  | { kind: 'recorded' }
  | { kind: 'timerFired' }
  /** A person asks a suspended session to go on. */
  | { kind: 'resumeRequested'; fromStore: boolean }
  /** Somebody wants the turn to end: this one, or with `null` the one that runs. */
  | { kind: 'stopRequested'; turnId: string | null }
  | { kind: 'drainRequested' }
  | { kind: 'undrainRequested' }
  /** Somebody wants to be sure that whatever can run does. */
  | { kind: 'nudged' }
  /** Requests that the session answers with an `answer` effect of the same id; `input` is whatever was sent. */
  | { kind: 'wakeScheduleRequested'; requestId: string; input: unknown }
  | { kind: 'wakeEditRequested'; requestId: string; input: unknown }
  | { kind: 'wakeCancelRequested'; requestId: string; input: unknown }
  | { kind: 'closeRequested'; requestId: string; input: unknown }
  /** `id` is that of the request. */
  | { kind: 'firesComputed'; id: string; result: ComputedFires }
  /** An occurrence has reached its session, or `problem` says why it cannot. */
  | { kind: 'sessionStarted'; key: string; problem: string | null }
  /** The channel has taken a delivery over, or `failure` says why not. */
  | { kind: 'deliveryEnded'; subject: string; part: Delivery['part']; failure: CallFailure | null };

/** A failed activity, as far as the core decides by it. */
export interface CallFailure {
  type: FailureType | 'HeartbeatTimeout' | 'ScheduleToStartTimeout' | 'OtherTimeout' | 'Unknown';
  message: string;
  /** Temporal's attempt that failed; `null` when unknown, which means all attempts are used. */
  attempt: number | null;
  phase: string | null;
  retryAfterMs: number | null;
  inputAtFault: boolean;
  profile: Profile | null;
  /** The newest heartbeat that the server had, of whichever attempt; fields may be missing in those of older workers. */
  progress: Partial<Progress> | null;
  /** With `WorkerLost`: workers that the call has lost, this one included; 0 where nobody counted. */
  losses: number;
  /** With `HeartbeatTimeout`, once it was looked into. */
  stall?: Stall;
}

/** Facts of the moment that an event is applied in. */
export interface Moment {
  nowMs: number;
  /** History is long enough: start no new work, roll over as soon as nothing is in flight. */
  rollOverDue: boolean;
}

/** A cancel by signal. Several may have been kept while no worker ran: all of them are read before the timer says what is due. */
export function isKeptCancel(event: SessionEvent): boolean {
  return event.kind === 'signalReceived' && event.name === SIGNAL.cancelWake;
}
