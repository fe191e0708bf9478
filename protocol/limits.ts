/**
 * The limits of every boundary, with their unit. Each is enforced where input enters and tested there.
 */
export const LIMITS = {
  /** Characters of a message, reminder or tool-call id. */
  idChars: 200,
  agentNameChars: 64,
  channelNameChars: 64,
  /** Characters of a session's name (the part after the tenant). */
  sessionNameChars: 100,
  /** UTF-8 bytes of text that may cross history inline; longer text is stored first and signalled by reference. */
  inlineTextBytes: 16 * 1024,
  /** UTF-8 bytes of text in one message, stored or inline. */
  messageTextBytes: 1024 * 1024,
  /** Bytes of one stored image or file. */
  blobBytes: 20 * 1024 * 1024,
  partsPerMessage: 32,
  /** Characters of a reference (`blob:…` or `https://…`), a media type or a file name. */
  referenceChars: 2_048,
  queuedItems: 100,
  /** UTF-16 units of JSON that waiting items may hold in the workflow's state. */
  queuedChars: 512 * 1024,
  /** Remembered item ids in the workflow's state; older ones are remembered by the store. */
  rememberedItems: 200,
  /** Characters that one model call may produce: text, reasoning and tool arguments. Ends a model that never stops. */
  outputCharsPerCall: 1_000_000,
  /** Tool calls of one answer: their references enter history. */
  toolCallsPerCall: 200,
  /** Characters of a tool result that are shown to the model; the whole is stored. */
  toolResultChars: 32 * 1024,
  wakesPerSession: 50,
  /** UTF-8 bytes of a wake's prompt that the session keeps; a longer one is stored first and kept by reference. */
  wakePromptBytes: 2 * 1024,
  /** Characters of a wake's prompt that lists show. */
  wakePromptShownChars: 200,
  /** Milliseconds between two due times of an interval. */
  wakeIntervalMs: 5_000,
  /** Milliseconds ahead that a wake may be due: ten years. */
  wakeHorizonMs: 10 * 366 * 24 * 3_600_000,
  wakeJitterMs: 3_600_000,
  /** Characters of a cron expression, a zone or an actor's name. */
  wakeWordChars: 100,
  /** Failed turns in a row that disable a recurring wake. */
  wakeFailures: 5,
  /** Fires in a row of wakes that the agent made, without word from outside; then they are paused. */
  selfMadeFires: 50,
  /** Keys of removed wakes that a session remembers with who removed them; the oldest is forgotten, and the answer says so. */
  removedWakeKeys: 100,
  /** Deliveries of one session that wait for their channels; further ones are dead letters at once. */
  deliveriesOnTheirWay: 100,
  /** UTF-8 bytes of text in one webhook; more of it is cut, which is told. */
  webhookTextBytes: 256 * 1024,
  /** Characters of an error message that enters history or the journal. */
  reasonChars: 2_000,
} as const;

const SESSION_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const DEFAULT_TENANT = 'default';

/** A workflow id `<tenant>/<name>`, or why the given text is not one. A bare name belongs to tenant `default`. */
export function parseSessionId(
  text: string,
): { sessionId: string; tenant: string; name: string } | { problem: string } {
  const parts = text.split('/');
  const [tenant, name] = parts.length === 1 ? [DEFAULT_TENANT, parts[0]] : parts;
  for (const [what, value] of [
    ['tenant', tenant],
    ['session name', name],
  ] as const) {
    if (!value || !SESSION_NAME.test(value) || value.length > LIMITS.sessionNameChars) {
      return {
        problem: `"${text.slice(0, 120)}" is not a session id: the ${what} must be 1 to ${LIMITS.sessionNameChars} letters, digits, ".", "_" or "-", beginning with a letter or digit`,
      };
    }
  }
  if (parts.length > 2) return { problem: `"${text.slice(0, 120)}" is not a session id: write NAME or TENANT/NAME` };
  return { sessionId: `${tenant}/${name}`, tenant: tenant, name: name! };
}
