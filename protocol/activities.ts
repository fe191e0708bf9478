import type { CallModelInput, CallModelResult, CallToolInput, CallToolResult, RecordInput } from './calls.js';

/** The activities that a session's workflow schedules. Their names are stored in history. */
export interface SessionActivities {
  callModel(input: CallModelInput): Promise<CallModelResult>;
  callTool(input: CallToolInput): Promise<CallToolResult>;
  record(input: RecordInput): Promise<void>;
}
