import { join } from 'node:path';
import { packageRoot } from '../../config/package-root.js';
import type { Output } from '../../protocol/outputs.js';
import type { Script } from '../support/fault-proxy.js';
import { TestProviders } from '../support/provider.js';
import { until } from '../support/until.js';
import { Vigil } from '../support/vigil.js';

const AGENTS = join(packageRoot(), 'test', 'support', 'capacity-agents.ts');
const PATIENCE = () => ({ signal: AbortSignal.timeout(60_000) });

const noticesOf = (outputs: Output[], code: string) =>
  outputs.flatMap((output) => (output.kind === 'Notice' && output.code === code ? [output.message] : []));

const stepOf = (vigil: Vigil, session: string, step: RegExp) =>
  until(`${session} at ${step}`, async () => {
    const view = await vigil.client.state(session).catch(() => null);
    return step.test(view?.turn?.step ?? '') && view;
  });

const busy =
  (seconds: number): Script =>
  (exchange) => {
    exchange.reply(429, { error: { message: 'too many requests' } }, { 'retry-after': String(seconds) });
    return Promise.resolve();
  };

describe('a provider', () => {
  let providers: TestProviders;
  const vigil = Vigil.inFileWithoutWorker();
  beforeAll(async () => {
    providers = await TestProviders.start();
    const environment = { VIGIL_AGENTS: AGENTS, VIGIL_TEST_PROVIDER: proxy().url };
    await vigil.startWorker(environment);
    await vigil.startWorker(environment);
  }, 60_000);
  beforeEach(() => providers.says({ content: 'here I am' }));
  afterEach(() => providers.reset());
  afterAll(() => providers.stop());
  const proxy = () => providers.get('openai-compatible').proxy;
  const send = (session: string, agent: string) => vigil.client.send(session, { text: 'hello' }, { agent });

  test('that is busy is asked once, while every session with its key waits, says so, and then completes', async () => {
    const [one, two] = [vigil.session(), vigil.session()];
    proxy().next(busy(4));
    const first = await send(one, 'gated');
    const waiting = await stepOf(vigil, one, /^waiting for the provider until 20/);
    const second = await send(two, 'gated');
    await stepOf(vigil, two, /^waiting for the provider until 20/);
    expect(proxy().requests).toHaveLength(1);
    const outcomes = [await first.outcome(PATIENCE()), await second.outcome(PATIENCE())];
    expect(outcomes).toMatchObject([{ text: 'here I am' }, { text: 'here I am' }]);
    expect(waiting.turn!.budgets.providerWaitMs.used).toBeGreaterThanOrEqual(4_000);
    const [, ...later] = proxy().requests;
    expect(later).toHaveLength(2);
    for (const { atMs } of later) expect(atMs - proxy().requests[0]!.atMs).toBeGreaterThanOrEqual(3_900);
    expect(noticesOf(await vigil.outputs(two), 'model_busy')[0]).toMatch(/account .* is waiting until/);
  });

  test('is not asked by a turn that is stopped while it waits for the account', async () => {
    const [one, two] = [vigil.session(), vigil.session()];
    proxy().next(busy(4));
    const first = await send(one, 'gated');
    await stepOf(vigil, one, /waiting for the provider/);
    const second = await send(two, 'gated');
    await stepOf(vigil, two, /waiting for the provider/);
    await expect(vigil.client.stop(two)).resolves.toMatchObject({ kind: 'stopped' });
    expect(await second.outcome(PATIENCE())).toMatchObject({ outcome: 'aborted' });
    expect(await first.outcome(PATIENCE())).toMatchObject({ outcome: 'completed' });
    expect(proxy().requests).toHaveLength(2);
  });

  test('that rejects gives way to the next model of the chain, which is told and named', async () => {
    const session = vigil.session();
    proxy().next((exchange) => Promise.resolve(exchange.reply(401, { error: { message: 'no such key' } })));
    const outcome = await (await send(session, 'chained')).outcome(PATIENCE());
    expect(outcome).toMatchObject({ outcome: 'completed', text: expect.stringContaining('You said') as string });
    const outputs = await vigil.outputs(session);
    expect(noticesOf(outputs, 'model_fallback')).toEqual([
      expect.stringMatching(/^from http.*#big to demo: .*no such key/),
    ]);
    expect(outputs.filter((output) => output.kind === 'Usage')).toMatchObject([{ model: 'demo' }]);
  });

  test('that breaks off again and again leaves nothing of what it had shown to the next model', async () => {
    const session = vigil.session();
    const cutAt =
      (attempt: number): Script =>
      async (exchange) => {
        await exchange.through('here');
        await vigil.output(session, 'TextDelta', (output) => output.try.attempt === attempt);
        await exchange.reset();
      };
    proxy().next(cutAt(1), cutAt(2), cutAt(3));
    const outcome = await (await send(session, 'chained')).outcome(PATIENCE());
    expect(outcome).toMatchObject({ outcome: 'completed', text: expect.stringMatching(/^You said/) as string });
    expect(proxy().requests).toHaveLength(3);
    const kinds = (await vigil.outputs(session)).map((output) => output.kind);
    expect(kinds.filter((kind) => kind === 'TextStreamDiscarded')).toHaveLength(3);
    expect(kinds.lastIndexOf('TextStreamDiscarded')).toBeLessThan(kinds.lastIndexOf('TextDelta'));
  });
});

describe('a worker with one slot', () => {
  const vigil = Vigil.inFileWithoutWorker();
  beforeAll(async () => void (await vigil.startNarrowWorker({ VIGIL_AGENTS: AGENTS })), 60_000);
  /** A session that has heard from the worker how long its calls wait. */
  const known = async (agent: string) => {
    const session = vigil.session();
    await vigil.ask(session, 'ping', { agent });
    return session;
  };

  test('lets a call wait, which is announced, and completes it', async () => {
    const [hog, waiting] = [await known('patient'), await known('patient')];
    const busyTurn = await vigil.client.send(hog, { text: 'both' });
    await vigil.output(hog, 'ToolStarted');
    const sent = await vigil.client.send(waiting, { text: 'ping' });
    await stepOf(vigil, waiting, /waiting for capacity/);
    const outcome = await sent.outcome(PATIENCE());
    expect(outcome).toMatchObject({ outcome: 'completed', text: 'pong' });
    expect(noticesOf(await vigil.outputs(waiting), 'waiting_for_capacity')).toHaveLength(1);
    expect(await busyTurn.outcome(PATIENCE())).toMatchObject({ outcome: 'completed' });
    // The call that waited beside the other ran once.
    const started = (await vigil.outputs(hog)).flatMap((output) =>
      output.kind === 'ToolStarted' ? [output.name] : [],
    );
    expect(started).toEqual(['wait', 'wait']);
  });

  test('ends a turn whose call waits too long, and tells the model of a tool that never ran', async () => {
    const [hog, waiting] = [await known('impatient'), await known('impatient')];
    const busyTurn = await vigil.client.send(hog, { text: 'both' });
    await vigil.output(hog, 'ToolStarted');
    const sent = await vigil.client.send(waiting, { text: 'ping' });
    expect(await sent.outcome(PATIENCE())).toMatchObject({
      outcome: 'interrupted',
      reason: expect.stringMatching(/never ran: no worker took it .*2 s/) as string,
    });
    const { text, outcome } = await busyTurn.outcome(PATIENCE());
    expect(outcome).toBe('completed');
    expect(text).toMatch(/This call never ran and had no effect/);
  });
});
