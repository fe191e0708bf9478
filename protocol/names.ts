/**
 * Names that Temporal stores: chosen once, never changed (a rename is a migration with a replay test).
 */
export const WORKFLOW_TYPE = 'session';
export const TASK_QUEUE = 'vigil';

/** Where calls run that are under suspicion of killing their workers: alone. */
export const apartQueue = (taskQueue: string): string => `${taskQueue}-apart`;

/** Where deliveries of a channel wait for whoever serves it. */
export const channelQueue = (channel: string): string => `channel-${channel}`;

/** `cancelWake` is for whoever finds no worker: kept, where the update of the same name waits for an answer. */
export const SIGNAL = { message: 'message', reminder: 'reminder', cancelWake: 'cancelWake' } as const;
export const QUERY = { state: 'state' } as const;
export const UPDATE = {
  resume: 'resume',
  stop: 'stop',
  drain: 'drain',
  undrain: 'undrain',
  scheduleWake: 'scheduleWake',
  editWake: 'editWake',
  cancelWake: 'cancelWake',
  close: 'close',
  nudge: 'nudge',
} as const;

export const SEARCH_ATTRIBUTES = {
  agent: 'VigilAgent',
  tenant: 'VigilTenant',
  attention: 'VigilAttention',
} as const;

/** Sessions start with a short workflow task timeout: a worker lost inside a task then costs about a second. */
export const WORKFLOW_TASK_TIMEOUT_MS = 2_000;
