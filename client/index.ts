export { SessionClient, type CancelWakeResult, type ConnectOptions } from './sessions.js';
export { SentMessage } from './sent-message.js';
export { SentReminder, type ReminderState, type SettledReminder } from './sent-reminder.js';
export { SessionError, type SessionErrorCode } from './session-error.js';
export { attachmentFromFile, type Attachment, type MessageInput } from './message-input.js';
export type { FollowOptions } from './follow.js';
