import type { ReminderState, SentReminder } from '../sent-reminder.js';
import { SessionError } from '../session-error.js';
import { withClient, type ConnectionFlags } from './connect.js';
import { exitCodeOfOutcome } from './exit-codes.js';

export interface RemindFlags extends ConnectionFlags {
  id: string;
  /** Milliseconds since 1970. */
  due: number;
  onBusy?: 'defer' | 'refuse';
  origin?: string;
  channel?: string;
  agent?: string;
  wait?: boolean;
  /** Seconds. */
  timeout?: number;
  json?: boolean;
}

/** Milliseconds in which a session that has a worker says what it does with a reminder. */
const PLACED_LIMIT_MS = 5_000;

/** Sends a reminder and says what the session does with it; with `--wait`, until its end. */
export async function remind(session: string, prompt: string, flags: RemindFlags): Promise<number> {
  const { id: reminderId, due: dueMs, onBusy, origin, channel, agent } = flags;
  const reminder = {
    ...{ reminderId, dueMs, prompt },
    ...(onBusy === undefined ? {} : { onBusy }),
    ...(origin === undefined ? {} : { origin }),
    ...(channel === undefined ? {} : { channel }),
  };
  return withClient(flags, async (client) => {
    const sent = await client.remind(session, reminder, agent === undefined ? {} : { agent });
    const last = await (flags.wait ? untilEnd(sent, flags) : untilPlaced(sent, flags));
    return exitCodeOf(last);
  });
}

async function untilEnd(sent: SentReminder, flags: RemindFlags): Promise<ReminderState> {
  const limit = flags.timeout === undefined ? {} : { signal: AbortSignal.timeout(flags.timeout * 1_000) };
  let last: ReminderState = { kind: 'accepted' };
  for await (last of sent.observe(limit)) tell(sent, last, flags);
  return last;
}

async function untilPlaced(sent: SentReminder, flags: RemindFlags): Promise<ReminderState> {
  const state = await sent.placed({ signal: AbortSignal.timeout(PLACED_LIMIT_MS) }).catch((error: unknown) => {
    // Without a worker it waits in Temporal.
    if (error instanceof SessionError && error.code === 'wait_timeout') return { kind: 'accepted' } as const;
    throw error;
  });
  tell(sent, state, flags);
  return state;
}

function tell({ key }: SentReminder, state: ReminderState, { json }: RemindFlags): void {
  process.stdout.write(json ? `${JSON.stringify({ key, ...state })}\n` : `${render(state)}\n`);
}

function render(state: ReminderState): string {
  switch (state.kind) {
    case 'deferred': {
      const place = state.position === null ? '' : `, number ${state.position}`;
      return state.waitingFor === 'person' ? `deferred${place}: the session waits for a person` : `deferred${place}`;
    }
    case 'running':
      return `running, turn ${state.turnId}`;
    case 'delivered':
      return `delivered, turn ${state.turnId}\n${state.outcome.text}`;
    case 'failed':
      return `failed: ${state.reason}`;
    default:
      return state.kind;
  }
}

function exitCodeOf(state: ReminderState): number {
  return state.kind === 'failed' || state.kind === 'expired' ? exitCodeOfOutcome('failed') : 0;
}
