import { Context } from '@temporalio/activity';
import {
  type Client,
  ServiceError,
  type WorkflowHandle,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { setTimeout as delay } from 'node:timers/promises';
import { QUERY } from '../protocol/names.js';
import type { SessionView } from '../protocol/view.js';
import type { ToolContext } from './agent.js';

/** Milliseconds that the session may take to answer once, and how often it is asked: together less than a tool may be silent. */
const ANSWER_LIMIT_MS = 10_000;
const TRIES = 3;
const PAUSE_MS = 500;

type Asking = Pick<ToolContext, 'sessionId' | 'toolCallId' | 'signal'>;

/**
 * Asks the session whose tool call this is, by one of its own updates. The tool call's id is the update's: asked again, by this attempt
 * or the next, the session gives the first answer and does nothing twice.
 * @throws Error when it does not answer; what was asked may have been done then.
 */
export function askSession<Answer>(update: string, input: object, asking: Asking): Promise<Answer> {
  const options = { args: [input] as [object], updateId: asking.toolCallId };
  return insist(asking, (handle) => handle.executeUpdate<Answer, [object]>(update, options));
}

/** @throws Error when the session does not answer. */
export function viewSession(asking: Asking): Promise<SessionView> {
  return insist(asking, (handle) => handle.query<SessionView>(QUERY.state));
}

async function insist<Answer>(
  { sessionId, signal }: Asking,
  ask: (handle: WorkflowHandle) => Promise<Answer>,
): Promise<Answer> {
  const { client } = Context.current();
  const handle = client.workflow.getHandle(sessionId);
  for (let tried = 1; ; tried++) {
    try {
      return await inTime(client, signal, () => ask(handle));
    } catch (error) {
      if (!isSilence(error)) throw error;
      if (tried === TRIES) throw new Error(NO_ANSWER, { cause: error });
      await delay(PAUSE_MS, undefined, { signal });
    }
  }
}

/** Nobody answered, or nobody could be reached: unlike an answer that says no, this may be over in a moment. */
function isSilence(error: unknown): boolean {
  return error instanceof WorkflowUpdateRPCTimeoutOrCancelledError || error instanceof ServiceError;
}

const NO_ANSWER =
  'the session did not answer in time, so it is not known whether this was done: look with list_wakes before you repeat it';

function inTime<Answer>(client: Client, signal: AbortSignal, ask: () => Promise<Answer>): Promise<Answer> {
  return client.withAbortSignal(signal, () => client.withDeadline(Date.now() + ANSWER_LIMIT_MS, ask));
}
