import type { CloseAnswer } from '../../protocol/wakes.js';
import { unchanged, type Change } from './effects.js';
import type { CallFailure, Moment, SessionEvent } from './events.js';
import { refuse } from './inbox.js';
import { notice, say } from './outbox.js';
import { readActor, readFields } from './parse-wake.js';
import { setFate, toRecords } from './seen-items.js';
import type { Call, SessionState } from './state.js';
import { stop } from './stop.js';
import { forgetTurn, settle } from './turns.js';

type Request = Extract<SessionEvent, { kind: 'closeRequested' }>;

/** A session closes whatever is wrong with the request, which only says who asks. */
export function onCloseRequested(state: SessionState, { requestId, input }: Request, moment: Moment): Change {
  const by = readActor(readFields(input ?? {})).name;
  const answer: CloseAnswer = {
    kind: state.closed ? 'already_closed' : 'closed',
    wakes: state.wakes.map(({ id }) => id),
    turnId: state.turn?.id ?? null,
    items: waitingIds(state),
  };
  const { state: closed, effects } = state.closed ? unchanged(state) : close(state, by, moment);
  return { state: closed, effects: [...effects, { kind: 'answer', requestId, answer }] };
}

function waitingIds({ turn, queue }: SessionState): string[] {
  return [...(turn?.steers ?? []), ...queue].map((item) => item.message.id);
}

/** Ends everything at once: the turn as `aborted`, what waits as `refused`, every wake. Nothing starts any more. */
function close(state: SessionState, by: string, moment: Moment): Change {
  const items = waitingIds(state);
  const { state: stopped, effects } = stop(state, null, moment);
  return { state: shut(stopped, by, { items, interrupted: state.turn?.id ?? null }), effects };
}

function shut(
  state: SessionState,
  by: string,
  { items, interrupted }: { items: string[]; interrupted: string | null },
): SessionState {
  const wakes = state.wakes.map(({ id }) => id);
  const empty = { ...state, wakes: [], queue: [], suspended: null, closed: true };
  const refused = items.reduce(
    (sofar, id) => refuse(sofar, id, 'session_closed', 'the session was closed before this had its turn'),
    setFate(empty, items, 'refused', null),
  );
  const { outcomes, items: fates } = refused.unrecorded;
  const unrecorded = { outcomes, items: [...fates, ...toRecords(refused, items)] };
  return say({ ...refused, unrecorded }, { kind: 'SessionClosed', by, wakes, items, interrupted });
}

/**
 * The store knows that the session was closed, in an earlier life: whatever started its workflow again does not open it. A turn that had
 * not begun leaves its item refused.
 */
export function closeAgain(
  state: SessionState,
  { call, hasBegun }: { call: Call; hasBegun: boolean },
  { message }: CallFailure,
  moment: Moment,
): Change {
  const told = notice(state, 'session_closed', message);
  const { opener, id } = told.turn!;
  const ended = hasBegun ? settle(told, moment.nowMs, 'interrupted', message) : forgetTurn(told, call);
  const queue = hasBegun ? ended.queue : [opener, ...ended.queue];
  const waiting = { ...ended, queue };
  return unchanged(shut(waiting, 'earlier', { items: waitingIds(waiting), interrupted: hasBegun ? id : null }));
}
