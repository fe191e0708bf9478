import type { Moment } from './events.js';
import { notice } from './outbox.js';
import type { SessionState } from './state.js';

/**
 * Charges a wait in which no worker took a call, and says so. Nothing ran, so the call may go out again, whatever it is; `null` when
 * this turn has waited long enough. It is no stall, and charged to nothing else.
 */
export function waitForCapacity(state: SessionState, moment: Moment): SessionState | null {
  const { scheduleToStartMs, capacityWaitPerTurnMs } = state.profile;
  const turn = state.turn!;
  const sinceMs = moment.nowMs - turn.capacityWaitedUntilMs;
  const capacityWaitMs = turn.used.capacityWaitMs + Math.min(scheduleToStartMs, sinceMs);
  if (capacityWaitMs >= capacityWaitPerTurnMs) return null;
  // A wait that goes on is told of once.
  const told = sinceMs > 2 * scheduleToStartMs ? announce(state) : state;
  const used = { ...turn.used, capacityWaitMs };
  return { ...told, turn: { ...turn, used, capacityWaitedUntilMs: moment.nowMs } };
}

function announce(state: SessionState): SessionState {
  const message = `waiting for capacity: no worker had a free slot for ${state.profile.scheduleToStartMs / 1000} s`;
  return notice(state, 'waiting_for_capacity', message, state.turn!.id);
}

/** Why a call was given up that never ran. */
export function lackOfCapacity({ profile }: SessionState): string {
  return `no worker took it for as long as this turn may wait for capacity (${profile.capacityWaitPerTurnMs / 1000} s)`;
}
