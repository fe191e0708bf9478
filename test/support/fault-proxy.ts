import { createServer, type IncomingMessage, request as ask, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

export interface SeenRequest {
  path: string;
  /** Byte for byte. */
  body: string;
  headers: IncomingMessage['headers'];
  atMs: number;
  /** When the client gave up before the reply had ended. */
  abortedAtMs: number | null;
  /** What of the upstream's reply was passed on so far, and when the newest of it. */
  passed: string[];
  passedAtMs: number | null;
}

/** What happens to one call. Without a script it is passed on whole. */
export type Script = (exchange: Exchange) => Promise<unknown>;

/**
 * Stands between a client and a provider, passes whole server-sent events, and does to each call what its script says.
 * It keeps what the client sent, and when it gave up.
 */
export class FaultProxy {
  readonly requests: SeenRequest[] = [];
  readonly #upstream: string;
  readonly #server: Server;
  #scripts: Script[] = [];
  readonly #scriptsOf = new Map<string, Script[]>();

  private constructor(upstream: string) {
    this.#upstream = upstream;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async start(upstream: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(upstream);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The calls to come, in this order. */
  next(...scripts: Script[]): void {
    this.#scripts.push(...scripts);
  }

  /** The calls to come whose body contains the text, in this order: for calls that run side by side. */
  nextOf(text: string, ...scripts: Script[]): void {
    this.#scriptsOf.set(text, scripts);
  }

  /** The calls so far whose body contains the text. */
  requestsOf(text: string): SeenRequest[] {
    return this.requests.filter(({ body }) => body.includes(text));
  }

  reset(): void {
    this.#scripts = [];
    this.#scriptsOf.clear();
    this.requests.length = 0;
    this.#server.closeAllConnections();
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const atMs = Date.now();
    const body = await bodyOf(request);
    const script = this.#scriptOf(body);
    const { url: path = '/', headers } = request;
    const seen: SeenRequest = { path, body, headers, atMs, abortedAtMs: null, passed: [], passedAtMs: null };
    this.requests.push(seen);
    const exchange = new Exchange(this.#upstream, request, seen, response);
    response.once('close', () => {
      if (!response.writableFinished && !exchange.isCut) seen.abortedAtMs = Date.now();
    });
    await script(exchange).catch(() => undefined);
    if (!response.writableEnded && !exchange.isCut) await exchange.gone;
  }

  #scriptOf(body: string): Script {
    const [, own] = [...this.#scriptsOf].find(([text]) => body.includes(text)) ?? [];
    return (own ?? this.#scripts).shift() ?? passed;
  }
}

export const passed: Script = async (exchange) => {
  await exchange.forward();
  exchange.end();
};

/** One call in the hands of its script. A script that just returns leaves the client waiting. */
export class Exchange {
  /** True once this side has broken the connection. */
  isCut = false;
  /** Resolves when the client is gone. */
  readonly gone: Promise<unknown>;
  #events: AsyncGenerator<string> | null = null;
  #held: string | null = null;

  constructor(
    private readonly upstream: string,
    private readonly request: IncomingMessage,
    private readonly seen: SeenRequest,
    private readonly response: ServerResponse,
  ) {
    this.gone = new Promise((resolve) => response.once('close', resolve));
  }

  /** Sends the headers of the upstream's reply and nothing of its body. */
  async headers(): Promise<void> {
    this.#events ??= await this.#ask();
    this.response.flushHeaders();
  }

  /** Passes on events, changed by `change` (an empty text leaves one out), up to the first for which `until` holds; that one stays. */
  async forward(until: (event: string) => boolean = () => false, change = (event: string) => event): Promise<void> {
    for (let event = await this.peek(); event !== null && !until(event); event = await this.peek()) {
      await this.pass(change);
    }
  }

  /** The next event of the upstream, which stays; `null` at its end. */
  async peek(): Promise<string | null> {
    this.#events ??= await this.#ask();
    this.#held ??= ((await this.#events.next()).value as string | undefined) ?? null;
    return this.#held;
  }

  /** Passes on the event that was looked at. */
  async pass(change = (event: string) => event): Promise<void> {
    const event = change(this.take());
    await this.write(event);
    this.seen.passed.push(event);
    this.seen.passedAtMs = Date.now();
  }

  /** Passes on events up to and with the first that contains the text. */
  async through(text: string): Promise<void> {
    await this.before(text);
    await this.pass();
  }

  async before(text: string): Promise<void> {
    await this.forward((event) => event.includes(text));
    if (this.#held === null) throw new Error(`the upstream sent no event with ${text}`);
  }

  /** Leaves out the next event of the upstream, and returns it. */
  take(): string {
    const event = this.#held ?? '';
    this.#held = null;
    return event;
  }

  async write(text: string): Promise<void> {
    // A write that the client's going overtakes is never confirmed.
    if (text !== '')
      await Promise.race([new Promise<void>((resolve) => this.response.write(text, () => resolve())), this.gone]);
  }

  /** Writes the text again and again until the client is gone. */
  async repeat(text: string, everyMs: number): Promise<void> {
    while (!this.response.destroyed) {
      await this.write(text);
      await delay(everyMs);
    }
  }

  reply(status: number, body: unknown, headers: Record<string, string> = {}): void {
    this.response.writeHead(status, { 'content-type': 'application/json', ...headers });
    this.response.end(typeof body === 'string' ? body : JSON.stringify(body));
  }

  /** Ends the reply as HTTP wants it. */
  end(): void {
    this.response.end();
  }

  async fin(): Promise<void> {
    await this.#cut();
    this.response.socket?.destroy();
  }

  async reset(): Promise<void> {
    await this.#cut();
    this.response.socket?.resetAndDestroy();
  }

  /** What was written has arrived by now: a reset overtakes data that is still under way. */
  async #cut(): Promise<void> {
    await delay(30);
    this.isCut = true;
  }

  async #ask(): Promise<AsyncGenerator<string>> {
    const { method = 'POST', url = '/', headers } = this.request;
    const reply = await new Promise<IncomingMessage>((resolve, reject) => {
      const forwarded = ask(this.upstream + url, { method, headers, agent: false }, resolve);
      forwarded.on('error', reject);
      void this.gone.then(() => forwarded.destroy());
      forwarded.end(this.seen.body);
    });
    const { 'content-type': type = 'application/json' } = reply.headers;
    this.response.writeHead(reply.statusCode ?? 502, { 'content-type': type });
    return wholeEvents(reply);
  }
}

async function* wholeEvents(reply: IncomingMessage): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of reply.setEncoding('utf8') as AsyncIterable<string>) {
    const events = (rest + chunk).split(/(?<=\n\n)/);
    rest = events.at(-1)?.endsWith('\n\n') ? '' : (events.pop() ?? '');
    yield* events;
  }
  if (rest !== '') yield rest;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
