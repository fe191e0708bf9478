import type { LanguageModelV3 } from '@ai-sdk/provider';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createRequire } from 'node:module';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, fetch as undiciFetch } from 'undici';
import { modelFetch, onRequestSent } from '../../activities/model-http.js';
import { createModel } from '../../activities/models.js';
import { ActivityWorld, failureOf, within } from '../support/activity-world.js';
import { FaultProxy } from '../support/fault-proxy.js';

let world: ActivityWorld;
let proxy: FaultProxy;
beforeAll(async () => {
  proxy = await FaultProxy.start('http://127.0.0.1:1');
});
afterAll(() => proxy.stop());
beforeEach(async () => {
  world = await ActivityWorld.open();
});
afterEach(async () => {
  proxy.reset();
  await world.close();
});

const failureWith = (model: LanguageModelV3) => failureOf(world.worker(model).callModel());

/** An address at which nothing listens any more. */
async function closedPort(): Promise<string> {
  const gone = await FaultProxy.start('');
  const { url } = gone;
  await gone.stop();
  return url;
}

test('a refused connection is retried after a pause, and says where it was tried', async () => {
  const url = await closedPort();
  const failure = await failureWith(createModel(`${url}/v1#none`, {}));
  expect(failure).toMatchObject({ type: 'StreamBroken', retryable: true });
  expect(failure.message).toContain(url);
  expect(failure.message).toMatch(/ECONNREFUSED/);
});

test('an unknown host is named', async () => {
  const failure = await failureWith(createModel('http://no-such-host.invalid/v1#none', {}));
  expect(failure).toMatchObject({ type: 'StreamBroken', retryable: true });
  expect(failure.message).toMatch(/no-such-host\.invalid.*(ENOTFOUND|EAI_AGAIN)/);
});

/** A model whose HTTP client has the time limits that ours must not have. */
function impatientModel(limits: { headersTimeout?: number; bodyTimeout?: number }): LanguageModelV3 {
  const dispatcher = new Agent(limits);
  const fetch = ((input: string, init: object) =>
    undiciFetch(input, { ...init, dispatcher })) as unknown as typeof globalThis.fetch;
  return createOpenAICompatible({ name: 'impatient', baseURL: `${proxy.url}/v1`, fetch }).languageModel('none');
}

test('a socket that times out before the headers is a broken stream', async () => {
  proxy.next((exchange) => exchange.gone);
  expect(await failureWith(impatientModel({ headersTimeout: 200 }))).toMatchObject({
    type: 'StreamBroken',
    message: expect.stringMatching(/Headers Timeout/) as string,
  });
});

test('a socket that times out in the stream is a broken stream', async () => {
  proxy.next((exchange) => exchange.write(': begun\n\n'));
  expect(await failureWith(impatientModel({ bodyTimeout: 200 }))).toMatchObject({
    type: 'StreamBroken',
    message: expect.stringMatching(/Body Timeout/) as string,
  });
});

const undiciTimers = createRequire(import.meta.url)('undici/lib/util/timers.js') as { tick(ms: number): void };

describe('an hour of the HTTP client’s own clock', () => {
  /** That clock ticks apart from all others, so an hour passes at once. */
  async function passAnHour(): Promise<void> {
    for (let minutes = 0; minutes < 60; minutes++) {
      undiciTimers.tick(60_000);
      await delay(1);
    }
  }

  const settled = async (promise: Promise<unknown>) =>
    Promise.race([
      promise.then(
        () => 'ended',
        (error: Error) => (error.cause as Error).name,
      ),
      delay(100, 'waiting'),
    ]);

  /** What becomes of a request without headers, and of one without a body, when an hour has passed. */
  async function afterAnHour(fetch: typeof globalThis.fetch): Promise<string[]> {
    const quit = new AbortController();
    proxy.next(
      (exchange) => exchange.gone,
      (exchange) => exchange.write('begun'),
    );
    const silent = fetch(proxy.url, { signal: quit.signal });
    silent.catch(() => undefined);
    while (proxy.requests.length === 0) await delay(5);
    const begun = (await fetch(proxy.url, { signal: quit.signal })).text();
    begun.catch(() => undefined);
    await passAnHour();
    const ends = await Promise.all([settled(silent), settled(begun)]);
    quit.abort();
    return ends;
  }

  test('ends a request of the ordinary client', async () => {
    const ends = await afterAnHour(undiciFetch as unknown as typeof globalThis.fetch);
    expect(ends).toEqual(['HeadersTimeoutError', 'BodyTimeoutError']);
  });

  test('ends no request to a model', async () => {
    expect(await afterAnHour(modelFetch)).toEqual(['waiting', 'waiting']);
  });

  test('ends no connecting to a model', async () => {
    const server = await silentServer();
    const quit = new AbortController();
    const connecting = modelFetch(`https://127.0.0.1:${server.port}/`, { signal: quit.signal });
    connecting.catch(() => undefined);
    await within(server.connected, 'a connection');
    await passAnHour();
    expect(await settled(connecting)).toBe('waiting');
    quit.abort();
    server.stop();
  });
});

/** Takes connections and says nothing: to a client of TLS, one that is never connected. */
async function silentServer() {
  const sockets: Socket[] = [];
  let onConnected: () => void;
  const connected = new Promise<void>((resolve) => (onConnected = resolve));
  const server: Server = createTcpServer((socket) => {
    sockets.push(socket.on('error', () => undefined));
    onConnected();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => {
    sockets.forEach((socket) => socket.destroy());
    server.close();
  };
  return { port: (server.address() as AddressInfo).port, connected, stop };
}

test('a request counts as sent when it is on the wire, not when its headers come', async () => {
  proxy.next((exchange) => exchange.gone);
  const quit = new AbortController();
  let sentAtRequest = -1;
  const request = onRequestSent(
    () => (sentAtRequest = proxy.requests.length),
    () => modelFetch(proxy.url, { method: 'POST', body: '{}', signal: quit.signal }),
  );
  request.catch(() => undefined);
  while (proxy.requests.length === 0) await delay(5);
  expect(sentAtRequest).toBe(0);
  quit.abort();
});

test('a request that cannot connect does not count as sent', async () => {
  const url = await closedPort();
  let isSent = false;
  const request = onRequestSent(
    () => (isSent = true),
    () => modelFetch(url),
  );
  await expect(request).rejects.toThrow();
  expect(isSent).toBe(false);
});

test('requests that run side by side are told apart', async () => {
  const sent: string[] = [];
  proxy.next(
    async (exchange) => exchange.reply(200, '{}'),
    async (exchange) => exchange.reply(200, '{}'),
  );
  await Promise.all(
    ['one', 'two'].map((name) =>
      onRequestSent(
        () => sent.push(name),
        () => modelFetch(proxy.url),
      ),
    ),
  );
  expect(sent.sort()).toEqual(['one', 'two']);
});
