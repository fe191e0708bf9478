import { TestProviders } from '../support/provider.js';
import { until } from '../support/until.js';
import { Vigil } from '../support/vigil.js';

const vigil = Vigil.inFile();

describe('a session that drains', () => {
  test('lets its turn end, keeps what arrives, and goes on with it once it is undrained', async () => {
    const session = vigil.session();
    const first = await vigil.client.send(session, { text: 'count to 20' });
    const { turnId } = await vigil.output(session, 'TextDelta');
    await expect(vigil.client.drain(session)).resolves.toEqual({ kind: 'draining', turnId, queued: 0 });
    const second = await vigil.client.send(session, { id: 'second', text: 'ping' });
    await expect(second.placed()).resolves.toEqual({ kind: 'queued', position: 1 });
    expect(await first.outcome()).toMatchObject({ outcome: 'completed' });
    // The outcome is in the store a moment before the session hears of it.
    await until('the session to idle', async () => (await vigil.client.state(session)).status === 'idle');
    await expect(vigil.client.drain(session)).resolves.toEqual({ kind: 'already_draining', turnId: null, queued: 1 });
    await expect(vigil.client.state(session)).resolves.toMatchObject({
      ...{ draining: true, status: 'idle', turn: null, queue: [{ id: 'second' }] },
    });
    await expect(vigil.client.undrain(session)).resolves.toEqual({ kind: 'undrained', next: 'second' });
    expect(await second.outcome()).toMatchObject({ text: 'pong' });
    await expect(vigil.client.undrain(session)).resolves.toEqual({ kind: 'not_draining', next: null });
    const codes = (await vigil.outputs(session)).flatMap((output) => (output.kind === 'Notice' ? [output.code] : []));
    expect(codes).toEqual(['session_draining', 'session_undrained']);
  });

  test('lets a turn go on through its tools to the answer', async () => {
    const session = vigil.session();
    const sent = await vigil.client.send(session, { text: 'wait for 2 seconds' });
    await vigil.output(session, 'ToolStarted');
    await vigil.client.drain(session);
    expect(await sent.outcome()).toMatchObject({ outcome: 'completed', text: expect.stringContaining('waited') });
  });

  test('does not wait for a busy provider: the turn is interrupted, and says why', async () => {
    const session = vigil.session();
    const sent = await vigil.client.send(session, { text: 'fault: 429' });
    await vigil.output(session, 'Notice', (notice) => notice.code === 'model_busy');
    await expect(vigil.client.drain(session)).resolves.toMatchObject({ kind: 'draining', turnId: null });
    const reason = expect.stringContaining('the session drains');
    expect(await sent.outcome()).toMatchObject({ outcome: 'interrupted', reason });
  });

  test('can still be stopped', async () => {
    const session = vigil.session();
    const sent = await vigil.client.send(session, { text: 'count to 500' });
    await vigil.output(session, 'TextDelta');
    await vigil.client.drain(session);
    await vigil.client.send(session, { text: 'ping' });
    await expect(vigil.client.stop(session)).resolves.toMatchObject({ kind: 'stopped', next: null });
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
    ['is not resumed while the session drains', true],
    ['is resumed when it does not, or does no more', false],
  ])('a stream that breaks %s', async (_, drains) => {
    const { proxy } = providers.get('openai-compatible');
    proxy.reset();
    let breakOff = () => undefined as void;
    const broken = new Promise<void>((resolve) => (breakOff = resolve));
    proxy.next(async (exchange) => {
      await exchange.through('alpha');
      await broken;
      await exchange.reset();
    });
    const session = real.session();
    const sent = await real.client.send(session, { text: 'hello' });
    await real.output(session, 'TextDelta');
    await real.client.drain(session);
    await real.output(session, 'Notice', ({ code }) => code === 'session_draining');
    if (!drains) {
      await real.client.undrain(session);
      await real.output(session, 'Notice', ({ code }) => code === 'session_undrained');
    }
    breakOff();
    const outcome = await sent.outcome();
    if (drains) {
      expect(outcome).toMatchObject({ outcome: 'interrupted', text: '', partial: null });
      expect(outcome.reason).toMatch(/the session drains/);
      await until('the text to be taken back', async () =>
        (await real.outputs(session)).some((output) => output.kind === 'TextStreamDiscarded'),
      );
    } else expect(outcome).toMatchObject({ outcome: 'completed', text: expect.stringMatching(/^alpha/) });
    expect(proxy.requests).toHaveLength(drains ? 1 : 2);
  });
});
