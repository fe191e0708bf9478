import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from '../../protocol/limits.js';
import { Vigil } from '../support/vigil.js';
import { until } from '../support/until.js';

const vigil = Vigil.inFile();

describe('a message', () => {
  test('is answered, and accepted, read and placed are three answers', async () => {
    const session = vigil.session();
    const sent = await vigil.client.send(session, { id: 'm1', text: 'hello' });
    await sent.read();
    await expect(sent.placed()).resolves.toMatchObject({ kind: 'started' });
    await expect(sent.outcome()).resolves.toMatchObject({
      outcome: 'completed',
      source: { kind: 'message', key: 'm1' },
      text: expect.stringContaining('You said: "hello"'),
    });
  });

  test('is told as received, started, text, usage, ended, in this order and without holes', async () => {
    const session = vigil.session();
    await vigil.ask(session, 'ping', { id: 'm1' });
    const outputs = await vigil.outputs(session);
    expect(outputs.map((output) => output.kind)).toEqual([
      'MessageReceived',
      'TurnStarted',
      'TextOutput',
      'Usage',
      'TurnEnded',
    ]);
    expect(outputs.map((output) => output.seq)).toEqual([1, 2, 3, 4, 5]);
    expect(outputs[4]).toMatchObject({ source: { kind: 'message', key: 'm1' }, text: 'pong', outcome: 'completed' });
  });

  test("is answered once when it is sent twice, and the repeat gets the first one's outcome", async () => {
    const session = vigil.session();
    const first = await vigil.ask(session, 'ping', { id: 'm1' });
    const repeat = await vigil.client.send(session, { id: 'm1', text: 'ping' });
    await expect(repeat.placed()).resolves.toMatchObject({
      kind: 'duplicate',
      turnId: first.turnId,
      contentDiffers: false,
    });
    await expect(repeat.outcome()).resolves.toEqual(first);
    const outputs = await vigil.outputs(session);
    expect(outputs.filter((output) => output.kind === 'TurnStarted')).toHaveLength(1);
  });

  test('with a used id and other text is told apart, and the first one stands', async () => {
    const session = vigil.session();
    await vigil.ask(session, 'ping', { id: 'm1' });
    const repeat = await vigil.client.send(session, { id: 'm1', text: 'something else' });
    await expect(repeat.placed()).resolves.toMatchObject({ kind: 'duplicate', contentDiffers: true });
  });

  test('over 16 KiB travels by reference and reaches the model whole', async () => {
    const session = vigil.session();
    const long = `ping ${'x'.repeat(LIMITS.inlineTextBytes)}`;
    const { outcome, usage } = await vigil.ask(session, long);
    expect(outcome).toBe('completed');
    expect(usage.uncachedInputTokens).toBeGreaterThan(0);
    const history = await vigil.handle(session).fetchHistory();
    expect(JSON.stringify(history).length).toBeLessThan(LIMITS.inlineTextBytes * 4);
  });

  test('that is silent gets its outcome, marked silent', async () => {
    const session = vigil.session();
    const sent = await vigil.client.send(session, { text: 'ping', silent: true });
    await expect(sent.outcome()).resolves.toMatchObject({ silent: true, text: 'pong' });
    await expect(vigil.output(session, 'TurnEnded')).resolves.toMatchObject({ silent: true });
  });
});

describe('a repeat of a message that the session has forgotten', () => {
  test('is found by the store before anything is asked of the model', async () => {
    const session = vigil.session();
    const first = await vigil.ask(session, 'ping', { id: 'old' });
    for (let i = 0; i < LIMITS.rememberedItems + 5; i++) await vigil.ask(session, 'ping', { id: `m${i}` });
    const view = await vigil.client.state(session);
    const repeat = await vigil.client.send(session, { id: 'old', text: 'ping' });
    await expect(repeat.placed()).resolves.toMatchObject({ kind: 'duplicate', fate: 'answered', turnId: first.turnId });
    await expect(repeat.outcome()).resolves.toEqual(first);
    const after = await vigil.client.state(session);
    expect(after.usage).toEqual(view.usage);
  }, 120_000);
});

describe('what arrives while a turn runs', () => {
  test('runs next when the turn has no other step, and is told so', async () => {
    const session = vigil.session();
    const first = await vigil.client.send(session, { text: 'count to 20' });
    const { turnId } = await vigil.output(session, 'TextDelta');
    const second = await vigil.client.send(session, { text: 'ping' });
    await expect(second.placed()).resolves.toEqual({ kind: 'queued', position: 1, mayJoin: turnId });
    const [one, two] = [await first.outcome(), await second.outcome()];
    expect(one.text).toMatch(/^1 2 3/);
    expect(two).toMatchObject({ text: 'pong', source: { kind: 'message', key: second.messageId } });
  });

  test('joins the turn at its next step while a tool runs', async () => {
    const session = vigil.session();
    const first = await vigil.client.send(session, { text: 'wait for 2 seconds' });
    await vigil.output(session, 'ToolStarted');
    const second = await vigil.client.send(session, { text: 'ping' });
    const [one, two] = [await first.outcome(), await second.outcome()];
    expect(two.turnId).toBe(one.turnId);
    expect(one.text).toBe('pong');
    const told = (await vigil.outputs(session)).flatMap((output) =>
      output.kind === 'MessageReceived' && output.messageId === second.messageId ? [output.disposition.kind] : [],
    );
    expect(told).toEqual(['queued', 'steered']);
  });

  test('waits for its own turn when it says so, and is told its position', async () => {
    const session = vigil.session();
    const first = await vigil.client.send(session, { text: 'count to 20' });
    await vigil.output(session, 'TextDelta');
    const second = await vigil.client.send(session, { text: 'ping', mode: 'queue' });
    await expect(second.placed()).resolves.toEqual({ kind: 'queued', position: 1 });
    const [one, two] = [await first.outcome(), await second.outcome()];
    expect(two.turnId).not.toBe(one.turnId);
    expect(two.text).toBe('pong');
  });
});

describe('nonsense', () => {
  const payloads: [string, unknown[]][] = [
    ['no payload', []],
    ['null', [null]],
    ['a text', ['hello']],
    ['a number as id', [{ id: 5, text: 'x' }]],
    ['an empty text', [{ id: 'e', text: '  ' }]],
    ['text and parts', [{ id: 'e', text: 'x', parts: [] }]],
    ['a part of unknown kind', [{ id: 'e', parts: [{ kind: 'video' }] }]],
    ['a text over the limit', [{ id: 'e', text: 'x'.repeat(LIMITS.inlineTextBytes + 1) }]],
    ['a prototype trick', [JSON.parse('{"__proto__": {"id": "p"}, "text": "x"}')]],
  ];

  test('in signals is answered with a notice each and wedges nothing', async () => {
    const session = vigil.session();
    for (const [, args] of payloads) await vigil.signalRaw(session, 'message', ...args);
    await vigil.signalRaw(session, 'no-such-signal', { id: 'x' });
    const { text } = await vigil.ask(session, 'ping');
    expect(text).toBe('pong');
    const notices = (await vigil.outputs(session)).filter((output) => output.kind === 'Notice');
    expect(notices.map((notice) => notice.code)).toEqual([...payloads.map(() => 'malformed_signal'), 'unknown_signal']);
    expect((await vigil.client.state(session)).status).toBe('idle');
  });

  test('as an argument of the workflow starts a session all the same', async () => {
    const session = vigil.session();
    await vigil.temporal.workflow.start('session', {
      workflowId: session,
      taskQueue: vigil.taskQueue,
      args: ['nonsense'],
    });
    await vigil.signalRaw(session, 'message', { id: 'm1', text: 'ping' });
    await expect(vigil.output(session, 'TurnEnded')).resolves.toMatchObject({ text: 'pong' });
  });
});

describe('a session', () => {
  test('is listed from the store with its last outcome', async () => {
    const session = vigil.session();
    await vigil.ask(session, 'ping');
    const rows = await vigil.client.listSessions({ tenant: vigil.tenant, limit: 1 });
    expect(rows).toMatchObject([{ sessionId: session, status: 'idle', lastOutcome: 'completed', turns: 1 }]);
  });

  test('that was ended from outside and is written to again continues from its transcript', async () => {
    const session = vigil.session();
    await vigil.ask(session, 'remember this');
    await vigil.handle(session).terminate('a test');
    const { outcome, usage } = await vigil.ask(session, 'ping', { id: 'again' });
    expect(outcome).toBe('completed');
    expect(usage.uncachedInputTokens).toBeGreaterThan(20);
    await expect(vigil.output(session, 'Notice')).resolves.toMatchObject({ code: 'session_restarted' });
  });

  test('costs at most 12 events a turn and no more bytes later than early', async () => {
    const session = vigil.session();
    const size = async () => {
      await delay(300);
      const { runId, historyLength, historySize } = await vigil.handle(session).describe();
      return { runId, events: historyLength, bytes: historySize ?? 0 };
    };
    const cost = async () => {
      for (;;) {
        const before = await size();
        await vigil.ask(session, 'ping');
        const after = await size();
        if (after.runId === before.runId)
          return { events: after.events - before.events, bytes: after.bytes - before.bytes };
      }
    };
    for (let turn = 1; turn < 10; turn++) await vigil.ask(session, 'ping');
    const early = await cost();
    // Over a continue-as-new, which comes after about 180 turns.
    for (let turn = 10; turn < 400; turn++) await vigil.ask(session, 'ping');
    const late = await cost();
    expect(early.events).toBeLessThanOrEqual(12);
    expect(late.events).toBe(early.events);
    expect(late.bytes).toBeLessThan(early.bytes * 1.05);
  }, 180_000);
});

describe('a killed worker', () => {
  test('between turns loses nothing', async () => {
    const session = vigil.session();
    await vigil.ask(session, 'ping', { id: 'm1' });
    await vigil.worker.kill();
    const sent = await vigil.client.send(session, { id: 'm2', text: 'ping' });
    await vigil.startWorker();
    await expect(sent.outcome({ signal: AbortSignal.timeout(60_000) })).resolves.toMatchObject({ text: 'pong' });
    await until('both turns', async () => (await vigil.client.state(session)).turns === 2);
  }, 90_000);
});
