import { CHANNEL_NAME_RULE, isChannelName } from '../../protocol/channels.js';
import { LIMITS } from '../../protocol/limits.js';
import { refuse, takeIn } from './inbox.js';
import { toItem } from './occurrences.js';
import { notice } from './outbox.js';
import { isWhole, readFields, readPrompt } from './parse-wake.js';
import { findSeen } from './seen-items.js';
import type { QueuedItem, SessionState } from './state.js';

interface Reminder {
  item: QueuedItem;
  isRefusedWhenBusy: boolean;
}

/**
 * Takes in a reminder that somebody outside keeps. It is due when it arrives: `dueMs` tells what was intended, and makes a redelivery a
 * repeat. Never throws, like `receiveSignal`.
 */
export function receiveReminder(state: SessionState, payload: unknown): SessionState {
  const reminder = parseReminder(payload);
  if ('problem' in reminder) return notice(state, 'malformed_signal', reminder.problem);
  const { item, isRefusedWhenBusy } = reminder;
  const isNew = !findSeen(state, item.message.id);
  if (isNew && !state.closed && isRefusedWhenBusy && isBusy(state)) {
    return refuse(
      state,
      item.message.id,
      'session_busy',
      'the session has other work; nothing was kept of the reminder',
    );
  }
  return takeIn(state, item);
}

function isBusy({ turn, queue, draining }: SessionState): boolean {
  return turn !== null || queue.length > 0 || draining;
}

function parseReminder(payload: unknown): Reminder | { problem: string } {
  const { fields, problems } = readFields(payload);
  const { reminderId, dueMs, origin = 'outside', onBusy = 'defer', channel = null } = fields;
  if (typeof reminderId !== 'string' || reminderId === '' || reminderId.length > LIMITS.idChars) {
    return { problem: `a reminder needs a "reminderId" of 1 to ${LIMITS.idChars} characters` };
  }
  if (!isWhole(dueMs) || Math.abs(dueMs) > LATEST_MS) problems.push('"dueMs" must be an instant in milliseconds');
  if (typeof origin !== 'string' || origin.length > LIMITS.wakeWordChars) {
    problems.push(`"origin" must have at most ${LIMITS.wakeWordChars} characters`);
  }
  if (onBusy !== 'defer' && onBusy !== 'refuse') problems.push('"onBusy" must be "defer" or "refuse"');
  if (channel !== null && !isChannelName(channel)) problems.push(`"channel" ${CHANNEL_NAME_RULE}`);
  const prompt = readPrompt(fields['prompt'], LIMITS.inlineTextBytes, problems);
  if (problems.length > 0) return { problem: `reminder "${reminderId}": ${problems.join('; ')}` };
  const due = new Date(dueMs as number).toISOString();
  const why = `[reminder ${reminderId} from ${origin as string}, due ${due}]`;
  const source = { kind: 'reminder', key: `${reminderId}:${dueMs as number}` } as const;
  const item = toItem(source, [{ kind: 'text', text: why }, prompt], channel as string | null);
  return { item, isRefusedWhenBusy: onBusy === 'refuse' };
}

/** Instants beyond cannot be written as a date. */
const LATEST_MS = 8.64e15;
