import type { CallModelInput, CallModelResult, CallToolInput, CallToolResult, RecordInput } from './calls.js';
import type { DeliverInput } from './channels.js';
import type { ComputedFires, ComputeFiresInput, StartSessionInput } from './wakes.js';

/** The activities that a session's workflow schedules. Their names are stored in history. */
export interface SessionActivities {
  callModel(input: CallModelInput): Promise<CallModelResult>;
  callTool(input: CallToolInput): Promise<CallToolResult>;
  record(input: RecordInput): Promise<void>;
  /** The next due times of a wake, by the host's time-zone data: recorded, so that replay never asks again. */
  computeFires(input: ComputeFiresInput): Promise<ComputedFires>;
  /** Sends a wake's occurrence to a session of its own. */
  startSession(input: StartSessionInput): Promise<void>;
  /** Hands a delivery over to its channel. Runs on the task queue of the channel, and waits there while nobody serves it. */
  deliver(input: DeliverInput): Promise<void>;
}
