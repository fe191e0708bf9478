/** What Temporal's own tools can do to a session: nothing of it may wedge it. */
import { Vigil } from '../support/vigil.js';
import { until } from '../support/until.js';

const vigil = Vigil.inFile();

describe('a payload that cannot be decoded', () => {
  test.each([
    ['of an unknown encoding', 'foo/bar', '{}'],
    ['that is not the JSON it says', 'json/plain', '{not json'],
    ['that is empty JSON', 'json/plain', ''],
    ['in protobuf', 'binary/protobuf', 'x'],
  ])('%s is refused with a notice, and the session goes on', async (_, encoding, data) => {
    const session = vigil.session();
    await vigil.ask(session, 'ping');
    await vigil.temporal.workflowService.signalWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: session },
      signalName: 'message',
      input: { payloads: [{ metadata: { encoding: Buffer.from(encoding) }, data: Buffer.from(data) }] },
    });
    await expect(vigil.ask(session, 'ping')).resolves.toMatchObject({ text: 'pong' });
    await expect(vigil.output(session, 'Notice')).resolves.toMatchObject({ code: 'malformed_signal' });
  });
});

describe('a session', () => {
  test.each([
    ['an empty state', { agent: 'demo', state: {} }],
    ['a number as state', { agent: 'demo', state: 5 }],
    ['an agent name without end', { agent: 'x'.repeat(100_000) }],
  ])('that is started with %s begins as any other', async (_, input) => {
    const session = vigil.session();
    await vigil.temporal.workflow.start('session', { workflowId: session, taskQueue: vigil.taskQueue, args: [input] });
    await vigil.signalRaw(session, 'message', { id: 'm1', text: 'ping' });
    await expect(vigil.output(session, 'TurnEnded')).resolves.toMatchObject({ text: 'pong' });
  });

  test('whose workflow is cancelled stops its turn, answers what waits, and lives on', async () => {
    const session = vigil.session();
    const first = await vigil.client.send(session, { text: 'wait for 30 seconds' });
    await vigil.output(session, 'ToolStarted');
    const second = await vigil.client.send(session, { text: 'ping', mode: 'queue' });
    await vigil.handle(session).cancel();
    await expect(first.outcome()).resolves.toMatchObject({ outcome: 'aborted' });
    await expect(second.outcome()).resolves.toMatchObject({ outcome: 'completed', text: 'pong' });
    await expect(vigil.ask(session, 'fault: 429 once')).resolves.toMatchObject({ outcome: 'completed' });
  });

  test('that was ended in the middle of a turn answers the same message id when it is sent again', async () => {
    const session = vigil.session();
    await vigil.client.send(session, { id: 'm1', text: 'count to 60' });
    await vigil.output(session, 'TextDelta');
    await vigil.handle(session).terminate('a test');
    await expect(vigil.ask(session, 'count to 3', { id: 'm1' })).resolves.toMatchObject({ text: '1 2 3' });
  });

  test('that is reset in the middle of a turn finishes it', async () => {
    const session = vigil.session();
    const sent = await vigil.client.send(session, { text: 'count to 60' });
    await vigil.output(session, 'TextDelta');
    const { runId } = await vigil.handle(session).describe();
    const { events } = await vigil.handle(session).fetchHistory();
    const firstTask = events!.find((event) => event.workflowTaskCompletedEventAttributes)!;
    await vigil.temporal.workflowService.resetWorkflowExecution({
      namespace: 'default',
      workflowExecution: { workflowId: session, runId },
      reason: 'a test',
      workflowTaskFinishEventId: firstTask.eventId!,
      requestId: `${session}-reset`,
    });
    await expect(sent.outcome({ signal: AbortSignal.timeout(60_000) })).resolves.toMatchObject({
      outcome: 'completed',
    });
  });
});

test('a provider that is busy twice in one turn is waited for twice', async () => {
  const session = vigil.session();
  await vigil.client.send(session, { text: 'fault: 429' });
  await vigil.output(session, 'Notice', (notice) => notice.code === 'model_busy');
  const waits = async () =>
    (await vigil.outputs(session)).filter((output) => output.kind === 'Notice' && output.code === 'model_busy').length;
  await until('a third wait', async () => (await waits()) >= 3, 60_000);
  await vigil.client.stop(session);
  await expect(vigil.ask(session, 'ping')).resolves.toMatchObject({ text: 'pong' });
});
