import type { OutcomeKind } from '../../protocol/fates.js';
import type { SessionErrorCode } from '../session-error.js';

/** Exit codes of `vigil`: 0 to 2 as every command has them, then one for each way a turn ends and each way a wait does. */
const OUTCOME_CODES: Record<OutcomeKind, number> = { completed: 0, failed: 3, timeout: 4, aborted: 5, interrupted: 6 };

const ERROR_CODES: Record<SessionErrorCode, number> = {
  invalid_input: 2,
  id_reused: 2,
  unreachable: 10,
  not_read: 11,
  unknown_session: 12,
  refused: 13,
  suspended: 14,
  session_ended: 15,
  wait_timeout: 16,
  session_closed: 17,
  session_busy: 18,
  delivery_not_observed: 19,
  channel_not_registered: 20,
};

export const USAGE_ERROR = 2;

export const exitCodeOfOutcome = (outcome: OutcomeKind): number => OUTCOME_CODES[outcome];
export const exitCodeOfError = (code: SessionErrorCode): number => ERROR_CODES[code];

export const EXIT_CODES_HELP = `
Exit codes: 0 completed; 2 bad input; 3 failed; 4 timeout; 5 aborted; 6 interrupted; 10 no server; 11 no worker answers;
12 unknown session; 13 refused; 14 suspended; 15 session ended; 16 --timeout passed; 17 session closed; 18 session busy;
19 delivery not observed; 20 channel not registered; 1 anything else.`;
