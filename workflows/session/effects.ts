import type { CallModelInput, CallToolInput, RecordInput } from '../../protocol/calls.js';
import type { DeliverInput } from '../../protocol/channels.js';
import type { Profile } from '../../protocol/liveness.js';
import type {
  CancelWakeAnswer,
  CloseAnswer,
  ComputeFiresInput,
  StartSessionInput,
  WakeAnswer,
} from '../../protocol/wakes.js';
import type { SessionState } from './state.js';

/** What the core wants done. The shell does it and reports back with an event. */
export type Effect =
  | { kind: 'callModel'; input: CallModelInput; profile: Profile; maximumAttempts: number; isApart?: true }
  | ({ kind: 'callTool'; input: CallToolInput } & ToolScheduling)
  /** Nobody waits any more for these model and tool calls. */
  | { kind: 'cancelCalls'; ids: string[] }
  | { kind: 'record'; input: RecordInput }
  /** Re-arms the one timer; `null` disarms it. */
  | { kind: 'armTimer'; atMs: number | null }
  /** Answers a request, once. */
  | { kind: 'answer'; requestId: string; answer: WakeAnswer | CancelWakeAnswer | CloseAnswer }
  | { kind: 'computeFires'; id: string; input: ComputeFiresInput }
  | { kind: 'startSession'; key: string; input: StartSessionInput }
  | { kind: 'deliver'; input: DeliverInput; scheduleToStartMs: number }
  | { kind: 'setAttention'; attention: 'none' | 'suspended' }
  | { kind: 'continueAsNew' };

interface ToolScheduling {
  dispatch: number;
  scheduleToStartMs: number;
  heartbeatTimeoutMs: number;
  maximumAttempts: number;
  isApart?: true;
}

/** A new state and what must be done because of it. */
export interface Change {
  state: SessionState;
  effects: Effect[];
}

export const unchanged = (state: SessionState): Change => ({ state, effects: [] });

/** Applies the next step to a change, keeping the effects in order. */
export function andThen(change: Change, next: (state: SessionState) => Change): Change {
  const { state, effects } = next(change.state);
  return { state, effects: [...change.effects, ...effects] };
}
