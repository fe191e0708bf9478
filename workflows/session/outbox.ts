import { LIMITS } from '../../protocol/limits.js';
import type { NoticeCode, OutputBody } from '../../protocol/outputs.js';
import type { SessionState } from './state.js';

/** Outputs that may wait for an activity; beyond that, those without a bound of their own are counted instead of kept. */
const OUTBOX_LIMIT = 300;

/** Adds an output under a key that replay makes again. */
export function say(state: SessionState, body: OutputBody): SessionState {
  if (state.outbox.length >= OUTBOX_LIMIT && isUnbounded(body)) {
    return { ...state, noticesLeftOut: state.noticesLeftOut + 1 };
  }
  const outputCount = state.outputCount + 1;
  return {
    ...state,
    outputCount,
    outbox: [...state.outbox, { ...body, key: `${state.chain}.o${outputCount}` }],
  };
}

/** Anyone can cause any number of these; the others are as many as the session's items and turns. */
function isUnbounded(body: OutputBody): boolean {
  if (body.kind !== 'MessageReceived' && body.kind !== 'ReminderReceived') return body.kind === 'Notice';
  return body.disposition.kind === 'duplicate' || body.disposition.kind === 'refused';
}

export function notice(state: SessionState, code: NoticeCode, message: string, turnId?: string): SessionState {
  const text = message.slice(0, LIMITS.reasonChars);
  return say(state, {
    kind: 'Notice',
    code,
    message: text,
    isCallBoundary: false,
    ...(turnId === undefined ? {} : { turnId }),
  });
}

/** Empties the outbox, saying how many notices it could not hold. */
export function takeOutbox(state: SessionState): { state: SessionState; outputs: SessionState['outbox'] } {
  const full =
    state.noticesLeftOut === 0
      ? state
      : say(
          { ...state, noticesLeftOut: 0, outbox: [] },
          {
            kind: 'Notice',
            code: 'malformed_signal',
            message: `${state.noticesLeftOut} further notices were left out`,
            isCallBoundary: false,
          },
        );
  const outputs = state.noticesLeftOut === 0 ? state.outbox : [...state.outbox, ...full.outbox];
  return { state: { ...full, outbox: [] }, outputs };
}
