import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { StoreUnavailableError } from '../../store/session-store.js';
import { aCall, aModel, aModelThatSays } from '../support/activity-models.js';
import { givenProviders } from '../support/activity-providers.js';
import { type ActivityWorld, answerOf, aTool, failureOf } from '../support/activity-world.js';
import { PROVIDERS, type TestProviders } from '../support/provider.js';
import { aCarriedMessage, aMessage, anOutcome, aRecord, SESSION } from '../support/store-builders.js';
import { until } from '../support/until.js';

/** What the design promises, from the stop to the provider. */
const LIMIT_MS = 1_500;
const stopped = aRecord({ outcomes: [anOutcome('t1', { outcome: 'aborted', reason: 'stopped' })] });

let providers: TestProviders;
let world: ActivityWorld;
givenProviders((given) => ({ providers, world } = given), 'alpha beta gamma delta epsilon');

describe.each(PROVIDERS)('a call of %s that somebody stopped', (name) => {
  test.each([
    ['before its headers', (exchange: { gone: Promise<unknown> }) => exchange.gone],
    ['in mid-stream', (exchange: { through(text: string): Promise<void> }) => exchange.through('alpha')],
  ] as const)(
    'while the provider is silent %s is aborted on the wire, although the server says nothing',
    async (_, silent) => {
      const { model, proxy } = providers.get(name);
      proxy.next(silent);
      const task = world.worker(model).callModel();
      await until('the request', () => proxy.requests[0]);
      await delay(300); // what is to be streamed is
      const stoppedAtMs = Date.now();
      await world.store.record(stopped);
      const abortedAtMs = await until('the abort', () => proxy.requests[0]!.abortedAtMs);
      expect(abortedAtMs - stoppedAtMs).toBeLessThan(LIMIT_MS);
      expect(await failureOf(task)).toMatchObject({ type: 'StaleTry', retryable: false });
    },
  );
});

test('a zombie that a newer try has replaced is aborted too', async () => {
  const { model, proxy } = providers.get('openai');
  proxy.next((exchange) => exchange.gone);
  const worker = world.worker(model);
  const zombie = worker.callModel();
  await until('the request', () => proxy.requests[0]);
  const newer = worker.callModel({}, { attempt: 2 });
  expect(await failureOf(zombie)).toMatchObject({ type: 'StaleTry' });
  expect(await answerOf(newer)).toMatchObject({ outcome: 'completed' });
});

test('a tool that somebody stopped has its signal aborted, and leaves no result', async () => {
  const anyInput = z.object({});
  let signal: AbortSignal | undefined;
  const run = (_: unknown, context: { signal: AbortSignal }) => {
    signal = context.signal;
    // As libraries do, before anybody else hears of the abort: what it throws says nothing of why.
    return new Promise((_, reject) => {
      context.signal.addEventListener('abort', () => reject(new Error('interrupted')));
    });
  };
  const worker = world.worker(aModelThatSays(aCall('clock', '{}')), { tools: [aTool({ input: anyInput, run })] });
  await answerOf(worker.callModel());
  const task = worker.callTool();
  await until('the tool to run', () => signal);
  const stoppedAtMs = Date.now();
  await world.store.record(stopped);
  expect(await failureOf(task)).toMatchObject({ type: 'StaleTry', retryable: false });
  expect(Date.now() - stoppedAtMs).toBeLessThan(LIMIT_MS);
  expect((await world.journal()).map((output) => output.kind)).not.toContain('ToolFinished');
});

test('a store that does not answer for a while delays it and harms nothing', async () => {
  let looks = 0;
  const store = world.storeWith({
    findClosed: (calls) => {
      looks += 1;
      return looks === 1 ? Promise.reject(new StoreUnavailableError('away')) : world.store.findClosed(calls);
    },
  });
  const task = world
    .worker(
      aModel(() => new Promise(() => undefined)),
      {},
      store,
    )
    .callModel();
  await until('the first look', () => looks > 0);
  expect(task.hasEnded).toBe(false);
  await world.store.record(stopped);
  expect(await failureOf(task)).toMatchObject({ type: 'StaleTry' });
});

test('a resume is refused while the session drains, with a failure that ends the call', async () => {
  const { model, proxy } = providers.get('openai');
  proxy.next((exchange) => exchange.gone);
  const worker = world.worker(model);
  const first = worker.callModel();
  await until('the request', () => proxy.requests[0]);
  await world.store.record(aRecord({ drain: { isDraining: true, change: 1 } }));
  expect(await failureOf(worker.callModel({}, { attempt: 2 }))).toMatchObject({
    ...{ type: 'SessionDraining', attempt: 2, retryable: false },
  });
  expect(proxy.requests).toHaveLength(1);
  first.cancel();
  await first.end;
});

test('a call of a closed session is refused before anything is asked, with a failure that ends it', async () => {
  const { model, proxy } = providers.get('openai');
  await world.store.record(aRecord({ status: 'closed' }));
  const failure = await failureOf(world.worker(model).callModel());
  expect(failure).toMatchObject({ type: 'SessionClosed', retryable: false });
  expect(proxy.requests).toHaveLength(0);
});

test('the model of the next turn sees what a stopped call had said, marked', async () => {
  const { model, proxy } = providers.get('openai');
  proxy.next((exchange) => exchange.through('alpha'));
  const worker = world.worker(model);
  const first = worker.callModel();
  await until('text', async () => (await world.journal()).some((output) => output.kind === 'TextDelta'));
  await world.store.record(stopped);
  await first.end;
  const { partial } = (await world.store.findOutcome(SESSION, 't1'))!;
  expect(partial).toMatch(/^alpha/);
  await answerOf(
    worker.callModel({
      ...{ turnId: 't2', callId: 't2.1' },
      append: [aCarriedMessage('m1', 't1'), { kind: 'interruptedCall', callId: 't1.1' }, aMessage('m2')],
    }),
  );
  expect(proxy.requests[1]!.body).toContain(`${partial} … [interrupted by the user]`);
});
