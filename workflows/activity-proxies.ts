import { proxyActivities, proxyLocalActivities, workflowInfo } from '@temporalio/workflow';
import type { SessionActivities } from '../protocol/activities.js';
import { FAILURE_TYPES } from '../protocol/failures.js';
import { budgetsOfLink, TOTAL_LIMIT_MS } from '../protocol/liveness.js';
import { apartQueue, channelQueue } from '../protocol/names.js';
import type { Effect } from './session/effects.js';

/** Failures that end a call at once: the core decides what follows. Everything else counts as a resume. */
const NON_RETRYABLE: string[] = FAILURE_TYPES.filter((type) => type !== 'StreamBroken');

/** A tool that may be repeated is repeated after a lost worker too. */
const TOOL_NON_RETRYABLE = NON_RETRYABLE.filter(
  (type) => !['WorkerLost', 'WorkerDraining', 'StoreUnavailable'].includes(type),
);

export function callModel(effect: Extract<Effect, { kind: 'callModel' }>) {
  const { input, profile, maximumAttempts } = effect;
  return proxyActivities<SessionActivities>({
    ...placeOf(effect),
    startToCloseTimeout: TOTAL_LIMIT_MS,
    scheduleToStartTimeout: profile.scheduleToStartMs,
    heartbeatTimeout: budgetsOfLink(profile, input.link).streaming,
    cancellationType: 'TRY_CANCEL',
    retry: { maximumAttempts, initialInterval: 50, maximumInterval: 1_000, nonRetryableErrorTypes: NON_RETRYABLE },
  }).callModel(input);
}

export function callTool(effect: Extract<Effect, { kind: 'callTool' }>) {
  const { input, scheduleToStartMs, heartbeatTimeoutMs, maximumAttempts } = effect;
  return proxyActivities<SessionActivities>({
    ...placeOf(effect),
    startToCloseTimeout: TOTAL_LIMIT_MS,
    scheduleToStartTimeout: scheduleToStartMs,
    heartbeatTimeout: heartbeatTimeoutMs,
    cancellationType: 'TRY_CANCEL',
    retry: {
      maximumAttempts,
      initialInterval: 500,
      maximumInterval: 10_000,
      nonRetryableErrorTypes: TOOL_NON_RETRYABLE,
    },
  }).callTool(input);
}

/** The session's own task queue, or the one of suspects. */
function placeOf({ isApart }: { isApart?: true }): { taskQueue?: string } {
  return isApart ? { taskQueue: apartQueue(workflowInfo().taskQueue) } : {};
}

/** Short, because a long local activity hides signals, updates and queries; what does not fit goes to the activity of the same name in `forSure`. */
const shortly = proxyLocalActivities<SessionActivities>({
  startToCloseTimeout: '1 second',
  scheduleToCloseTimeout: '1.5 seconds',
  retry: { maximumAttempts: 2, initialInterval: 50 },
});

const forSure = proxyActivities<SessionActivities>({
  startToCloseTimeout: '1 minute',
  retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
});

export function record({ input }: Extract<Effect, { kind: 'record' }>) {
  return shortly.record(input).catch(() => forSure.record(input));
}

export function computeFires({ input }: Extract<Effect, { kind: 'computeFires' }>) {
  return shortly.computeFires(input).catch(() => forSure.computeFires(input));
}

/** Bounded by tries: a run that is to roll over waits for it, and without a worker no try is used up. */
export function startSession({ input }: Extract<Effect, { kind: 'startSession' }>) {
  return proxyActivities<SessionActivities>({
    startToCloseTimeout: '10 seconds',
    retry: { initialInterval: '1 second', maximumAttempts: 6 },
  }).startSession(input);
}

/** Waits on the channel's own task queue for whoever serves it, and then only for the store: nobody waits for a receiver here. */
export function deliver({ input, scheduleToStartMs }: Extract<Effect, { kind: 'deliver' }>) {
  return proxyActivities<SessionActivities>({
    taskQueue: channelQueue(input.channel),
    scheduleToStartTimeout: scheduleToStartMs,
    startToCloseTimeout: '10 seconds',
    retry: { initialInterval: '1 second', maximumInterval: '30 seconds' },
  }).deliver(input);
}
