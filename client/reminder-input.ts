import { LIMITS } from '../protocol/limits.js';
import type { ReminderSignal } from '../protocol/wakes.js';
import type { SessionStore } from '../store/session-store.js';
import { toPrompt } from './message-input.js';
import { SessionError } from './session-error.js';

/**
 * Checks a reminder and stores a prompt that must not cross history: whatever the session would drop is refused here already.
 * @throws SessionError `invalid_input`, naming the limit
 */
export async function toReminder(
  reminder: ReminderSignal,
  store: Pick<SessionStore, 'putBlob'>,
): Promise<ReminderSignal> {
  const { reminderId, dueMs, origin, onBusy } = reminder;
  if (reminderId === '' || reminderId.length > LIMITS.idChars) {
    throw invalid(`a reminder id has 1 to ${LIMITS.idChars} characters`);
  }
  if (!Number.isSafeInteger(dueMs) || Number.isNaN(new Date(dueMs).getTime())) {
    throw invalid('a reminder needs the instant that it is due, in whole milliseconds since 1970');
  }
  if ((origin ?? '').length > LIMITS.wakeWordChars) {
    throw invalid(`the origin of a reminder has at most ${LIMITS.wakeWordChars} characters`);
  }
  const prompt = await toPrompt(reminder.prompt, LIMITS.inlineTextBytes, store);
  return {
    ...{ reminderId, dueMs, prompt },
    ...(origin === undefined ? {} : { origin }),
    ...(onBusy === undefined ? {} : { onBusy }),
  };
}

function invalid(message: string): SessionError {
  return new SessionError('invalid_input', message);
}
