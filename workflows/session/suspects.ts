import { SUSPECT_LOSSES } from '../../protocol/failures.js';
import type { CallFailure } from './events.js';
import { notice } from './outbox.js';
import type { SessionState } from './state.js';

/** Whether a failed call is under suspicion of having killed its workers: from then on it runs apart. */
export function isSuspect({ type, losses }: CallFailure): boolean {
  return type === 'WorkerLost' && losses >= SUSPECT_LOSSES;
}

export function tellOfSuspect(state: SessionState, what: string): SessionState {
  const message = `${what} was running in ${SUSPECT_LOSSES} workers that were lost: it goes on apart from all others`;
  return notice(state, 'running_apart', message, state.turn!.id);
}

/** Why a call was given up that lost its worker once more, with nobody else in it. */
export const KILLED_ITS_WORKER = 'it killed its worker, where it ran alone';
