import type { Client } from '@temporalio/client';
import { MockActivityEnvironment } from '@temporalio/testing';
import { startSession } from '../../activities/start-session.js';

test('what a wake sends to a session of its own is automation, under the id of the occurrence', async () => {
  const sent: unknown[][] = [];
  const workflow = { signalWithStart: (...args: unknown[]) => Promise.resolve(sent.push(args)) };
  const withAbortSignal = (_: unknown, run: () => Promise<unknown>) => run();
  const client = { workflow, withAbortSignal } as unknown as Client;
  const environment = new MockActivityEnvironment({}, { client });
  const message = { id: 'c-w1:5', parts: [{ kind: 'text' as const, text: 'look' }] };
  await environment.run(startSession, { sessionId: 'acme/report', agent: 'coder', message });
  const signal = { ...message, mode: 'queue', isAutomated: true };
  expect(sent).toMatchObject([['session', { workflowId: 'acme/report', signal: 'message', signalArgs: [signal] }]]);
});
