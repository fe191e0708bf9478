import { PROVIDER_WAITS_MS } from '../../protocol/liveness.js';
import { hashText } from './content-hash.js';
import type { CallFailure, Moment } from './events.js';
import { reasonOf } from './fallback.js';
import { notice } from './outbox.js';
import type { Call, SessionState } from './state.js';
import { settle } from './turns.js';

const SHORTEST_STORE_WAIT_MS = 1_000;
const LONGEST_STORE_WAIT_MS = 30_000;

/** The provider asks for patience: a durable wait with its own budget, which no resume pays for. */
export function waitForProvider(state: SessionState, call: Call, failure: CallFailure, moment: Moment): SessionState {
  const turn = state.turn!;
  const { shortest, longestNamed } = PROVIDER_WAITS_MS;
  const wanted = failure.retryAfterMs ?? backoffMs(call);
  const waitMs = jittered(Math.min(Math.max(wanted, shortest), longestNamed), call);
  const providerWaitMs = turn.used.providerWaitMs + waitMs;
  const limitMs = state.profile.providerWaitPerTurnMs;
  if (providerWaitMs > limitMs) {
    const reason = `the provider stayed busy: ${failure.message} (this turn may wait ${limitMs / 1000} s for it)`;
    return settle(state, moment.nowMs, 'failed', reasonOf(state, reason));
  }
  const untilMs = moment.nowMs + waitMs;
  const told = notice(
    state,
    'model_busy',
    `waiting for the provider until ${new Date(untilMs).toISOString()}: ${failure.message}`,
    turn.id,
  );
  return {
    ...told,
    turn: {
      ...turn,
      used: { ...turn.used, providerWaitMs },
      step: { kind: 'waiting', call, untilMs, why: 'model_busy' },
    },
  };
}

/** Our own store is down or full: backed off for as long as it takes, visible, charged to nobody. */
export function waitForStore(state: SessionState, call: Call, failure: CallFailure, moment: Moment): SessionState {
  const turn = state.turn!;
  const storeWaits = turn.used.storeWaits + 1;
  const untilMs =
    moment.nowMs + Math.min(LONGEST_STORE_WAIT_MS, SHORTEST_STORE_WAIT_MS * 2 ** Math.min(storeWaits - 1, 10));
  const told = storeWaits === 1 ? notice(state, 'store_unavailable', failure.message, turn.id) : state;
  return {
    ...told,
    turn: {
      ...turn,
      used: { ...turn.used, storeWaits },
      step: { kind: 'waiting', call, untilMs, why: 'store_unavailable' },
    },
  };
}

function backoffMs(call: Call): number {
  const { shortest, longestBackoff } = PROVIDER_WAITS_MS;
  return Math.min(longestBackoff, shortest * 2 ** Math.min(call.dispatch - 1, 10));
}

/** Up to a fifth more, spread by the call's id: sessions that were refused together do not come back together. */
function jittered(waitMs: number, call: Call): number {
  const fraction = (parseInt(hashText(`${call.callId}/${call.dispatch}`).slice(-6), 16) % 1000) / 1000;
  return Math.round(waitMs * (1 + fraction / 5));
}
