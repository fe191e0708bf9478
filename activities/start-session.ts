import { Context } from '@temporalio/activity';
import { SearchAttributeType, TypedSearchAttributes } from '@temporalio/common';
import { SEARCH_ATTRIBUTES, SIGNAL, WORKFLOW_TASK_TIMEOUT_MS, WORKFLOW_TYPE } from '../protocol/names.js';
import type { MessageSignal } from '../protocol/messages.js';
import type { SessionInput } from '../protocol/session-input.js';
import type { StartSessionInput } from '../protocol/wakes.js';

/** The `startSession` activity: a message to a session that need not exist yet. Its id is the occurrence's, so that it may be sent twice. */
export async function startSession({ sessionId, agent, message }: StartSessionInput): Promise<void> {
  const { client, info } = Context.current();
  const args: [SessionInput] = [{ agent }];
  const signal: MessageSignal = { ...message, mode: 'queue', isAutomated: true };
  await client.workflow.signalWithStart(WORKFLOW_TYPE, {
    workflowId: sessionId,
    taskQueue: info.taskQueue,
    args,
    signal: SIGNAL.message,
    signalArgs: [signal],
    workflowTaskTimeout: WORKFLOW_TASK_TIMEOUT_MS,
    typedSearchAttributes: new TypedSearchAttributes([
      { key: { name: SEARCH_ATTRIBUTES.agent, type: SearchAttributeType.KEYWORD }, value: agent },
      {
        key: { name: SEARCH_ATTRIBUTES.tenant, type: SearchAttributeType.KEYWORD },
        value: sessionId.slice(0, sessionId.indexOf('/')),
      },
    ]),
  });
}
