import { setTimeout as delay } from 'node:timers/promises';
import { TestProviders } from '../support/provider.js';
import { until } from '../support/until.js';
import { Vigil } from '../support/vigil.js';

const vigil = Vigil.inFile();

/** The whole way: the update's answer, on a busy machine too. */
const ANSWER_MS = 2_000;
/** From the stop to the provider's socket, and to a worker that is free again. */
const LIMIT_MS = 1_500;

/** Begins a turn, waits until it stands where it should, stops it, and waits for its outcome. */
async function stopped(session: string, text: string, isThere: () => Promise<unknown>) {
  const sent = await vigil.client.send(session, { text });
  await isThere();
  const askedAtMs = Date.now();
  const answer = await vigil.client.stop(session);
  const tookMs = Date.now() - askedAtMs;
  const outcome = await sent.outcome({ signal: AbortSignal.timeout(30_000) });
  return { answer, tookMs, outcome };
}

const atStep = (session: string, step: RegExp) => () =>
  until(`${session} at ${step}`, async () => {
    const view = await vigil.client.state(session).catch(() => null);
    return step.test(view?.turn?.step ?? '');
  });

/** No worker runs anything for the session any more. */
const quiet = (session: string) =>
  until(
    'its activities to end',
    async () => ((await vigil.handle(session).describe()).raw.pendingActivities ?? []).length === 0,
    10_000,
  );

describe('a stop', () => {
  test.each<[string, text: string, (session: string) => () => Promise<unknown>, partial: RegExp | null]>([
    ['before the first token', 'fault: silent', (session) => atStep(session, /model call/), null],
    ['in mid-stream', 'count to 500', (session) => () => vigil.output(session, 'TextDelta'), /^1 2 /],
    ['of a stalled stream', 'fault: stall', (session) => () => vigil.output(session, 'TextDelta'), /^This /],
    ['while a tool runs', 'wait for 60 seconds', (session) => () => vigil.output(session, 'ToolStarted'), null],
    ['while it waits for the provider', 'fault: 429', (session) => atStep(session, /waiting/), null],
  ])('%s ends the turn at once, frees the worker, and lets the next one run', async (_, text, isThere, partial) => {
    const session = vigil.session();
    const { answer, tookMs, outcome } = await stopped(session, text, isThere(session));
    expect(answer).toEqual({ kind: 'stopped', turnId: outcome.turnId, next: null });
    expect(tookMs).toBeLessThan(ANSWER_MS);
    expect(outcome).toMatchObject({ outcome: 'aborted', text: '' });
    expect(outcome.partial).toEqual(partial === null ? null : expect.stringMatching(partial));
    const stoppedAtMs = Date.now();
    await quiet(session);
    expect(Date.now() - stoppedAtMs).toBeLessThan(LIMIT_MS);
    await expect(vigil.ask(session, 'ping')).resolves.toMatchObject({ outcome: 'completed', text: 'pong' });
    const outputs = await vigil.outputs(session);
    const end = outputs.findIndex((output) => output.kind === 'TurnEnded');
    expect(outputs[end]).toMatchObject({ turnId: outcome.turnId, partial: outcome.partial });
    const late = outputs.slice(end + 1).filter((output) => 'turnId' in output && output.turnId === outcome.turnId);
    expect(late).toEqual([]);
  });

  test('leaves what waits: steers that had not joined run first, then the queue', async () => {
    const session = vigil.session();
    const first = await vigil.client.send(session, { text: 'count to 500' });
    await vigil.output(session, 'TextDelta');
    const queued = await vigil.client.send(session, { id: 'queued', text: 'ping', mode: 'queue' });
    const steer = await vigil.client.send(session, { id: 'steer', text: 'ping' });
    await steer.placed();
    await expect(vigil.client.stop(session)).resolves.toMatchObject({ kind: 'stopped', next: 'steer' });
    expect(await first.outcome()).toMatchObject({ outcome: 'aborted' });
    const [one, two] = [await steer.outcome(), await queued.outcome()];
    expect([one.text, two.text]).toEqual(['pong', 'pong']);
    expect(one.startedAtMs).toBeLessThanOrEqual(two.startedAtMs);
    expect(one.turnId).not.toBe(two.turnId);
  });

  test('that comes late hits no other turn, and nothing that idles', async () => {
    const session = vigil.session();
    const { turnId } = await vigil.ask(session, 'ping');
    // The outcome is in the store a moment before the session hears of it.
    await until('the session to idle', async () => (await vigil.client.state(session)).status === 'idle');
    await expect(vigil.client.stop(session)).resolves.toEqual({ kind: 'nothing_running', ended: turnId });
    const next = await vigil.client.send(session, { text: 'count to 20' });
    await vigil.output(session, 'TextDelta');
    await expect(vigil.client.stop(session, { turnId })).resolves.toEqual({ kind: 'nothing_running', ended: turnId });
    await expect(vigil.client.stop(session, { turnId: 'nonsense' })).resolves.toEqual({ kind: 'nothing_running' });
    expect(await next.outcome()).toMatchObject({ outcome: 'completed', partial: null });
  });

  test('of a session that does not exist says so', async () => {
    await expect(vigil.client.stop(vigil.session())).rejects.toMatchObject({ code: 'unknown_session' });
  });

  test('is a command', async () => {
    const session = vigil.session();
    const sent = await vigil.client.send(session, { text: 'fault: silent' });
    await atStep(session, /model call/)();
    const { turn } = await vigil.client.state(session);
    const run = async (...args: string[]) => {
      const { end, stdout } = await vigil.run(['stop', session, ...args]);
      expect(end).toBe(0);
      return stdout.trim();
    };
    expect(JSON.parse(await run('--turn', 'other', '--json'))).toEqual({ session, kind: 'nothing_running' });
    expect(await run()).toBe(`stopped turn ${turn!.turnId}; nothing runs next`);
    expect(await sent.outcome()).toMatchObject({ outcome: 'aborted' });
  });
});

describe('over real sockets', () => {
  let providers: TestProviders;
  beforeAll(async () => {
    providers = await TestProviders.start();
    providers.says({ content: 'alpha beta gamma delta' });
  });
  afterAll(() => providers.stop());
  const real = Vigil.inFile(() => ({ VIGIL_MODEL: `${providers.get('openai-compatible').proxy.url}/v1#o4-mini` }));

  test.each([
    ['sent no headers', null],
    ['went silent in mid-stream', 'alpha'],
  ])('a provider that %s sees the abort in time, and the next turn tells it what was said', async (_, last) => {
    const { proxy } = providers.get('openai-compatible');
    proxy.reset();
    proxy.next((exchange) => (last === null ? exchange.gone : exchange.through(last)));
    const session = real.session();
    const sent = await real.client.send(session, { text: 'hello' });
    await until('the request', () => proxy.requests[0]);
    if (last !== null) await real.output(session, 'TextDelta');
    await delay(200);
    const stoppedAtMs = Date.now();
    await real.client.stop(session);
    const abortedAtMs = await until('the abort', () => proxy.requests[0]!.abortedAtMs);
    expect(abortedAtMs - stoppedAtMs).toBeLessThan(LIMIT_MS);
    const { outcome, partial } = await sent.outcome();
    expect({ outcome, isPartial: partial !== null }).toEqual({ outcome: 'aborted', isPartial: last !== null });
    await expect(real.ask(session, 'again')).resolves.toMatchObject({ outcome: 'completed' });
    const marked = expect.stringContaining('[interrupted by the user]');
    expect(proxy.requests[1]!.body).toEqual(last === null ? expect.not.stringContaining('interrupted') : marked);
    expect(proxy.requests[1]!.body).toContain('hello');
  });
});
