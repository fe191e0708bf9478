import type { Delivery } from '../../protocol/channels.js';
import { LIMITS } from '../../protocol/limits.js';
import { unchanged, type Change } from './effects.js';
import type { CallFailure, Moment } from './events.js';
import { notice } from './outbox.js';
import type { PendingDelivery, SessionState, Turn } from './state.js';

/**
 * What goes to channels. The session hands each delivery over and then knows no more of it: how often a receiver is tried is the
 * channel's own business.
 *
 * D1 No turn, no roll-over and no record waits for a delivery; only the end of a closed session does.
 * D2 What was handed over but not acknowledged when the run ended is handed over again by the next one: the store takes it once.
 * D3 A delivery ends handed over, or as undelivered, which the store keeps among the dead letters.
 */

/** Puts the outcome of a turn on its way. That of a silent turn stays in the journal. */
export function routeOutcome(state: SessionState, { id, channel, silent }: Turn): SessionState {
  return channel === undefined || silent ? state : add(state, { channel, subject: id, part: 'outcome' });
}

/** Tells a channel, too, what a person should know. `subject` is a key that the notice alone has. */
export function routeNotice(
  state: SessionState,
  channel: string | null,
  { subject, code, message }: { subject: string; code: string; message: string },
): SessionState {
  if (channel === null) return state;
  return add(state, { channel, subject, part: 'notice', notice: { code, message: message.slice(0, NOTICE_CHARS) } });
}

const NOTICE_CHARS = 500;

function add(state: SessionState, delivery: Delivery): SessionState {
  if (state.deliveries.length >= LIMITS.deliveriesOnTheirWay) {
    const reason = `${state.deliveries.length} deliveries of the session wait for their channels`;
    return giveUp(state, delivery, { code: 'delivery_failed', reason });
  }
  return { ...state, deliveries: [...state.deliveries, { ...delivery, sinceMs: null, isOut: false }] };
}

/** Hands over what the store can tell of: an outcome that is still to be recorded waits for that. */
export function handOverDeliveries(state: SessionState, moment: Moment): Change {
  const ready = moment.rollOverDue ? [] : state.deliveries.filter((each) => !each.isOut && isRecorded(state, each));
  if (ready.length === 0) return unchanged(state);
  const deliveries = state.deliveries.map((each) =>
    ready.includes(each) ? { ...each, isOut: true, sinceMs: each.sinceMs ?? moment.nowMs } : each,
  );
  const { sessionId, profile } = state;
  return {
    state: { ...state, deliveries },
    effects: ready.map((each) => ({
      kind: 'deliver',
      input: { sessionId, ...toDelivery(each) },
      scheduleToStartMs: leftMs(each, profile.channelWaitMs, moment),
    })),
  };
}

function isRecorded({ unrecorded, recording }: SessionState, { subject }: Delivery): boolean {
  return ![...unrecorded.outcomes, ...(recording?.outcomes ?? [])].some(({ turnId }) => turnId === subject);
}

/** The wait for a channel goes on over a roll-over. */
function leftMs({ sinceMs }: PendingDelivery, waitMs: number, { nowMs }: Moment): number {
  return Math.max(LEAST_WAIT_MS, waitMs - (nowMs - (sinceMs ?? nowMs)));
}

const LEAST_WAIT_MS = 1_000;

function toDelivery({ channel, subject, part, notice: told }: Delivery): Delivery {
  return { channel, subject, part, ...(told === undefined ? {} : { notice: told }) };
}

/** Nothing of the run before is acknowledged any more. */
export function recallDeliveries(state: SessionState): SessionState {
  return { ...state, deliveries: state.deliveries.map((each) => ({ ...each, isOut: false })) };
}

export function onDeliveryEnded(
  state: SessionState,
  { subject, part, failure }: { subject: string; part: Delivery['part']; failure: CallFailure | null },
): SessionState {
  const found = state.deliveries.find((each) => each.subject === subject && each.part === part && each.isOut);
  if (!found) return state;
  const ended = { ...state, deliveries: state.deliveries.filter((each) => each !== found) };
  if (!failure) return ended;
  if (failure.type !== 'ScheduleToStartTimeout') {
    return giveUp(ended, found, { code: 'delivery_failed', reason: failure.message });
  }
  const reason = `no worker serves the channel; start one whose configuration declares it`;
  return giveUp(ended, found, { code: 'channel_not_registered', reason });
}

/** Nothing is lost, and nobody's failure: the store keeps it for a person to send again. */
function giveUp(
  state: SessionState,
  delivery: Delivery,
  { code, reason }: { code: 'channel_not_registered' | 'delivery_failed'; reason: string },
): SessionState {
  const { channel, subject } = delivery;
  const undelivered = [
    ...state.undelivered,
    { ...toDelivery(delivery), reason: `${code}: ${reason}`.slice(0, NOTICE_CHARS) },
  ];
  const message = `channel "${channel}" did not take ${subject}: ${reason}; it is kept, see: vigil deliveries`;
  return notice({ ...state, undelivered }, code, message);
}
