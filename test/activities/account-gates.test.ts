import { setTimeout as delay } from 'node:timers/promises';
import { APICallError } from '@ai-sdk/provider';
import { AccountGates } from '../../activities/account-gates.js';
import { accountOf, createModel } from '../../activities/models.js';
import { type AccountGate, type ClosingGate, StoreUnavailableError } from '../../store/session-store.js';
import { aModel } from '../support/activity-models.js';
import { givenProviders } from '../support/activity-providers.js';
import { type ActivityWorld, answerOf, failureOf } from '../support/activity-world.js';
import type { Script } from '../support/fault-proxy.js';
import { KEYS, PROVIDERS, type TestProviders } from '../support/provider.js';
import { aMessage } from '../support/store-builders.js';
import { until } from '../support/until.js';

let providers: TestProviders;
let world: ActivityWorld;
givenProviders((given) => ({ providers, world } = given), 'hello');

const busy =
  (status: number, headers: Record<string, string> = {}): Script =>
  (exchange) => {
    exchange.reply(status, { error: { message: 'too much' } }, headers);
    return Promise.resolve();
  };
/** A call of a session of its own. */
const ofSession = (name: string) => ({ sessionId: `acme/${name}`, append: [aMessage(`m of ${name}`)] });

describe.each(PROVIDERS)('an account with %s', (name) => {
  test.each([429, 503, 529])(
    'that answers %i is not asked by other sessions until its time is over',
    async (status) => {
      const { model, proxy } = providers.get(name);
      proxy.next(busy(status, { 'retry-after': '2' }));
      const [one, other] = [world.worker(model), world.worker(model)];
      expect(await failureOf(one.callModel(ofSession('a')))).toMatchObject({ type: 'ModelBusy', retryAfterMs: 2_000 });
      // The same process, and another one on the same store.
      for (const worker of [one, other]) {
        const failure = await failureOf(worker.callModel(ofSession('b'), { attempt: worker === one ? 1 : 2 }));
        expect(failure).toMatchObject({ type: 'ModelBusy', retryable: false });
        expect(failure.message).toMatch(/account .* is waiting until 20\d\d-.*Z/);
        expect(failure.retryAfterMs).toBeGreaterThan(0);
        expect(failure.retryAfterMs).toBeLessThanOrEqual(2_000);
      }
      expect(proxy.requests).toHaveLength(1);
      await delay(2_050);
      await answerOf(other.callModel(ofSession('b'), { attempt: 3 }));
      expect(proxy.requests).toHaveLength(2);
    },
  );
});

test.each([500, 502, 408, 400, 401])('a reply %i keeps no other session from asking', async (status) => {
  const { model, proxy } = providers.get('openai');
  proxy.next(busy(status));
  const worker = world.worker(model);
  await failureOf(worker.callModel(ofSession('a')));
  await answerOf(worker.callModel(ofSession('b')));
  expect(proxy.requests).toHaveLength(2);
});

test('without a time named the account is left alone longer after each busy answer, until one succeeds', async () => {
  const { model, proxy } = providers.get('openai');
  const account = accountOf(model)!;
  proxy.next(busy(529), busy(529));
  const worker = world.worker(model);
  expect((await failureOf(worker.callModel(ofSession('a')))).retryAfterMs).toBeLessThanOrEqual(1_000);
  await delay(1_050);
  const second = await failureOf(worker.callModel(ofSession('a'), { attempt: 2 }));
  expect(second.retryAfterMs).toBeGreaterThan(1_000);
  await delay(2_050);
  expect(await world.store.findGate(account)).toMatchObject({ failures: 2 });
  await answerOf(worker.callModel(ofSession('a'), { attempt: 3 }));
  await until('the gate to be forgotten', async () => (await world.store.findGate(account)) === null);
});

test('a model object of a user’s own has no account, and waits for no other', async () => {
  const refusing = aModel(() =>
    Promise.reject(new APICallError({ message: 'busy', url: 'own://', requestBodyValues: {}, statusCode: 429 })),
  );
  expect(accountOf(refusing)).toBeNull();
  const worker = world.worker(refusing);
  const failure = await failureOf(worker.callModel(ofSession('a')));
  expect(failure.retryAfterMs).toBeUndefined();
  expect((await failureOf(worker.callModel(ofSession('b')))).message).toBe(failure.message);
});

describe('the account of a model', () => {
  const settings = { openaiApiKey: KEYS.openai, anthropicApiKey: KEYS.anthropic, compatibleApiKey: KEYS.compatible };
  const account = (spec: string, over = {}) => accountOf(createModel(spec, { ...settings, ...over }));

  test('is the same for every model with the same key at the same address', () => {
    expect(account('openai:gpt-5')).toBe(account('openai:gpt-4o'));
    expect(account('http://127.0.0.1:1/v1#a')).toBe(account('http://127.0.0.1:1/v1#b'));
  });

  test('differs by provider, address and key', () => {
    const all = [
      account('openai:gpt-5'),
      account('openai:gpt-5', { openaiApiKey: 'another key' }),
      account('openai:gpt-5', { openaiBaseUrl: 'http://127.0.0.1:1/v1' }),
      account('anthropic:x', { anthropicApiKey: KEYS.openai }),
      account('http://127.0.0.1:1/v1#a'),
      account('http://127.0.0.1:2/v1#a'),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  test('does not tell the key', () => {
    expect(account('openai:gpt-5')).toMatch(/^[0-9a-f]{64}$/);
  });

  test('is none for the demo', () => {
    expect(account('demo')).toBeNull();
  });
});

describe('gates in one process', () => {
  const FAR_AHEAD_MS = 10 * 60_000;
  let gate: AccountGate | null;
  let reads: number;
  let closings: ClosingGate[];
  let openings: number;
  const store = {
    findGate: (account: string) => {
      reads += 1;
      return Promise.resolve(account === 'a' ? gate : null);
    },
    closeGate: (closing: ClosingGate) => {
      closings.push(closing);
      gate = { untilMs: closing.nowMs + 1_000, waitMs: 1_000, failures: 1 };
      return Promise.resolve(gate);
    },
    openGate: () => Promise.resolve(void openings++),
  };
  const tooMuch = () =>
    Promise.reject(new APICallError({ message: 'busy', url: 'x', requestBodyValues: {}, statusCode: 429 }));
  beforeEach(() => {
    gate = null;
    reads = openings = 0;
    closings = [];
  });

  test('cost a process one read a second, and nothing is written for an account in order', async () => {
    const gates = new AccountGates(store);
    for (let n = 0; n < 5; n++) await gates.pass('a', () => Promise.resolve(n));
    expect([reads, openings]).toEqual([1, 0]);
    await delay(1_050);
    await gates.pass('a', () => Promise.resolve(0));
    expect(reads).toBe(2);
  });

  test('that a clock far ahead closed keep this process waiting no longer than their length', async () => {
    gate = { untilMs: Date.now() + FAR_AHEAD_MS, waitMs: 1_100, failures: 1 };
    const gates = new AccountGates(store);
    await expect(gates.pass('a', () => Promise.resolve(1))).rejects.toMatchObject({ retryAfterMs: 1_100 });
    await delay(1_150);
    await expect(gates.pass('a', () => Promise.resolve(1))).resolves.toBe(1);
  });

  test('do not turn a store that is away into another failure than the provider gave, nor lose its answer', async () => {
    const away = () => Promise.reject(new StoreUnavailableError('away'));
    const gates = new AccountGates({ ...store, closeGate: away, openGate: away });
    await expect(gates.pass('a', tooMuch)).rejects.toMatchObject({ statusCode: 429 });
    gate = { untilMs: Date.now() - 1, waitMs: 1_000, failures: 1 };
    await expect(new AccountGates({ ...store, openGate: away }).pass('a', () => Promise.resolve(7))).resolves.toBe(7);
  });

  test('are closed for this process at once, whatever it had read', async () => {
    const gates = new AccountGates(store);
    await gates.pass('a', () => Promise.resolve(1));
    await expect(gates.pass('a', tooMuch)).rejects.toMatchObject({ name: 'AccountBusyError' });
    await expect(gates.pass('a', () => Promise.resolve(1))).rejects.toMatchObject({ name: 'AccountBusyError' });
    expect(closings).toMatchObject([{ account: 'a', retryAfterMs: null }]);
    await gates.pass('b', () => Promise.resolve(1));
  });
});
