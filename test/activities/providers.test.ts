import { setTimeout as delay } from 'node:timers/promises';
import type { FailureType } from '../../protocol/failures.js';
import type { Phase } from '../../protocol/liveness.js';
import type { AssistantPart } from '../../store/session-store.js';
import { givenProviders } from '../support/activity-providers.js';
import {
  ActivityWorld,
  answerOf,
  failureOf,
  type RunningTask,
  type SeenFailure,
  PATIENT_BUDGETS,
  SHORT_BUDGETS,
} from '../support/activity-world.js';
import { DIALECTS, type Dialect, withUsage } from '../support/activity-dialects.js';
import type { Exchange, Script } from '../support/fault-proxy.js';
import { PROVIDERS, type ProviderName, type TestProvider, type TestProviders } from '../support/provider.js';
import { SESSION } from '../support/store-builders.js';
import { until } from '../support/until.js';

const WORDS = 'alpha beta gamma delta epsilon';
const ARGUMENTS = JSON.stringify({ note: 'x'.repeat(40 * 1024) });

const COMPLETED = { kind: 'answered', outcome: 'completed', reason: null };

let providers: TestProviders;
let world: ActivityWorld;
givenProviders((given) => ({ providers, world } = given), WORDS);

/** Runs one try against the provider whose call goes as the script says. */
function tried(name: ProviderName, script?: Script): { task: RunningTask<unknown>; provider: TestProvider } {
  const provider = providers.get(name);
  if (script) provider.proxy.next(script);
  return { task: world.worker(provider.model).callModel(), provider };
}

async function storedParts(): Promise<AssistantPart[]> {
  const entry = await world.store.findEntry(SESSION, 't1.1.out');
  return entry?.content.kind === 'assistant' ? entry.content.parts : [];
}

/** Without the empty mark of hidden reasoning that some providers send along. */
async function saidParts(): Promise<AssistantPart[]> {
  return (await storedParts()).filter((part) => part.kind !== 'reasoning' || part.text !== '');
}

async function finalTexts(): Promise<string[]> {
  return (await world.journal()).flatMap((output) => (output.kind === 'TextOutput' ? [output.text] : []));
}

describe.each(PROVIDERS)('a healthy answer of %s', (name) => {
  const answered = (script?: Script) => {
    const provider = providers.get(name);
    if (script) provider.proxy.next(script);
    return answerOf(world.worker(provider.model).callModel());
  };

  test('that is text becomes the text of the call', async () => {
    expect(await answered()).toMatchObject(COMPLETED);
    expect(await finalTexts()).toEqual([WORDS]);
  });

  test('with arguments of 40 KB calls the tool with all of them', async () => {
    providers.says({ toolCalls: [{ name: 'note', arguments: ARGUMENTS }] }, { chunkSize: 512 });
    expect(await answered()).toMatchObject({ kind: 'toolCalls', toolCalls: [{ name: 'note' }] });
    expect(await saidParts()).toMatchObject([{ kind: 'toolCall', toolCallId: 't1.1.t1', input: ARGUMENTS }]);
  });

  test('with text and then tools keeps both, in order', async () => {
    providers.says({
      content: WORDS,
      toolCalls: [
        { name: 'note', arguments: '{"n":1}' },
        { name: 'note', arguments: '{"n":2}' },
      ],
    });
    expect(await answered()).toMatchObject({ toolCalls: [{ toolCallId: 't1.1.t1' }, { toolCallId: 't1.1.t2' }] });
    expect((await saidParts()).map((part) => part.kind)).toEqual(['text', 'toolCall', 'toolCall']);
    expect(await finalTexts()).toEqual([WORDS]);
  });

  test('with reasoning keeps it out of the text', async () => {
    providers.says({ content: WORDS, reasoning: 'because of this and that' });
    await answered();
    expect((await storedParts()).map((part) => part.kind)).toEqual(['reasoning', 'text']);
    expect(await finalTexts()).toEqual([WORDS]);
  });

  test('whose connection breaks after the finish is an answer all the same', async () => {
    const { terminator, finish } = DIALECTS[name];
    expect(
      await answered(async (exchange) => {
        await exchange.through(terminator ?? finish);
        exchange.end();
      }),
    ).toMatchObject(COMPLETED);
  });

  test('with usage reports it in disjoint buckets', async () => {
    const { usage } = DIALECTS[name];
    expect((await answered(changed(withUsage(usage)))).usage).toMatchObject({
      uncachedInputTokens: 8,
      cacheReadTokens: 12,
      cacheWriteTokens: name === 'anthropic' ? 5 : null,
      outputTokens: 7,
      reasoningTokens: name === 'anthropic' ? null : 3,
    });
  });
});

/** Passes on everything, changed. */
function changed(change: (event: string) => string): Script {
  return async (exchange) => {
    await exchange.forward(undefined, change);
    exchange.end();
  };
}

test.each(['openai-compatible', 'openai'] as const)('an answer of %s without usage has unknown usage', async (name) => {
  const provider = providers.get(name);
  provider.proxy.next(changed(withUsage(null)));
  const nothing = { uncachedInputTokens: null, cacheReadTokens: null, outputTokens: null, reasoningTokens: null };
  expect((await answerOf(world.worker(provider.model).callModel())).usage).toMatchObject(nothing);
});

/** A fault, and what it is to a session. `only` names the providers that can have it. */
interface Fault {
  what: string;
  script(dialect: Dialect): Script;
  type: FailureType | ((name: ProviderName) => FailureType);
  says?: RegExp;
  details?: Partial<SeenFailure>;
  only?: readonly ProviderName[];
}

const replies =
  (status: number, word: string, message: string, headers = {}) =>
  (dialect: Dialect): Script =>
  async (exchange) =>
    exchange.reply(status, dialect.errorBody(word, message), headers);

const afterSomeText =
  (then: (exchange: Exchange, dialect: Dialect) => unknown) =>
  (dialect: Dialect): Script =>
  async (exchange) => {
    await exchange.through('beta');
    await then(exchange, dialect);
  };

const STREAM_FAULTS: Fault[] = [
  {
    what: 'a reset in the stream',
    script: afterSomeText((exchange) => exchange.reset()),
    type: 'StreamBroken',
    says: /ECONNRESET|other side closed|terminated/,
  },
  {
    what: 'a closed connection in the stream',
    script: afterSomeText((exchange) => exchange.fin()),
    type: 'StreamBroken',
    says: /other side closed|terminated/,
  },
  {
    what: 'a clean end without a finish',
    script: afterSomeText((exchange) => exchange.end()),
    type: 'StreamBroken',
    says: /finish/,
  },
  {
    what: 'a connection closed inside an event',
    script: afterSomeText(async (exchange) => {
      await exchange.write('data: {"type":"half an ev');
      await exchange.fin();
    }),
    type: 'StreamBroken',
  },
  {
    what: 'an empty reply',
    script: () => async (exchange) => {
      await exchange.headers();
      exchange.end();
    },
    type: 'StreamBroken',
    says: /finish/,
  },
  {
    what: 'a reset before the headers',
    script: () => (exchange) => exchange.reset(),
    type: 'StreamBroken',
    says: /cannot reach the model/,
  },
  {
    what: 'a closed connection before the headers',
    script: () => (exchange) => exchange.fin(),
    type: 'StreamBroken',
    says: /cannot reach the model.*other side closed/,
  },
  {
    what: 'an error event',
    script: afterSomeText(async (exchange, dialect) => {
      await exchange.write(dialect.error('server_error', 'the kettle is empty'));
      exchange.end();
    }),
    type: 'StreamBroken',
    says: /the kettle is empty/,
  },
  {
    what: 'an error event after which the stream goes on',
    script: afterSomeText(async (exchange, dialect) => {
      await exchange.write(dialect.error('server_error', 'the kettle is empty'));
      await passedOn(exchange);
    }),
    type: 'StreamBroken',
    says: /the kettle is empty/,
  },
  {
    what: 'an overload in the stream',
    script: afterSomeText(async (exchange, dialect) => {
      await exchange.write(dialect.error(dialect.overloaded, 'too many kettles'));
      exchange.end();
    }),
    type: 'ModelBusy',
    says: /too many kettles/,
  },
  {
    what: 'an overload as the first event',
    script: (dialect) => async (exchange) => {
      await exchange.headers();
      await exchange.write(dialect.error(dialect.overloaded, 'too many kettles'));
      exchange.end();
    },
    type: 'ModelBusy',
    says: /too many kettles/,
  },
  {
    what: 'a refusal as the first event',
    script: (dialect) => async (exchange) => {
      await exchange.headers();
      await exchange.write(dialect.error('invalid_request_error', 'no kettles here'));
      exchange.end();
    },
    type: 'ModelRejected',
    says: /no kettles here/,
    details: { inputAtFault: true },
  },
  {
    what: 'a context that overflows in the stream',
    script: afterSomeText(async (exchange, dialect) => {
      await exchange.write(dialect.error('context_length_exceeded', 'the prompt is too long'));
      exchange.end();
    }),
    type: 'ContextOverflow',
  },
  {
    what: 'an event that is not JSON, after which the stream goes on',
    script: afterSomeText(async (exchange) => {
      await exchange.write('data: {"broken\n\n');
      await passedOn(exchange);
    }),
    type: 'StreamBroken',
    says: /JSON parsing failed/,
  },
  {
    what: 'a ping as data',
    script: afterSomeText(async (exchange) => {
      await exchange.write('data: {"type":"ping"}\n\n');
      await passedOn(exchange);
    }),
    type: 'StreamBroken',
    says: /[Vv]alidation/,
    only: ['openai-compatible'],
  },
  {
    what: 'no usage',
    script: () => changed(withUsage(null)),
    type: 'StreamBroken',
    says: /[Vv]alidation/,
    only: ['anthropic'],
  },
  {
    what: 'a finish without the end of the message',
    script: (dialect) => async (exchange) => {
      await exchange.before(dialect.terminator!);
      exchange.end();
    },
    type: 'StreamBroken',
    only: ['anthropic'],
  },
];

async function passedOn(exchange: Exchange): Promise<void> {
  await exchange.forward();
  exchange.end();
}

const TOOL_FAULTS: Fault[] = [
  {
    what: 'an end inside the arguments',
    script: () => async (exchange) => {
      await exchange.through('lambda');
      exchange.end();
    },
    type: 'StreamBroken',
  },
  {
    what: 'an end after the arguments, before the finish',
    script: (dialect) => async (exchange) => {
      await exchange.before(dialect.finish);
      exchange.end();
    },
    type: 'StreamBroken',
  },
  {
    what: 'an error after the arguments, and then a finish',
    script: (dialect) => async (exchange) => {
      await exchange.before(dialect.finish);
      await exchange.write(dialect.error('server_error', 'the kettle is empty'));
      await passedOn(exchange);
    },
    type: 'StreamBroken',
    says: /the kettle is empty/,
  },
];

const soon = () => new Date(Date.now() + 60_000).toUTCString();

const REPLIES: Fault[] = [
  {
    what: '400',
    script: replies(400, 'invalid_request_error', 'no kettles here'),
    type: 'ModelRejected',
    says: /no kettles here.*400/,
    details: { inputAtFault: true },
  },
  {
    what: '401',
    script: replies(401, 'authentication_error', 'who are you'),
    type: 'ModelRejected',
    says: /who are you.*401.*API key/,
  },
  { what: '402', script: replies(402, 'billing_error', 'no money'), type: 'ModelRejected', says: /no money.*used up/ },
  { what: '403', script: replies(403, 'permission_error', 'not you'), type: 'ModelRejected', says: /not you.*403/ },
  {
    what: '404',
    script: replies(404, 'not_found_error', 'no such model'),
    type: 'ModelRejected',
    says: /no such model.*404/,
  },
  {
    what: '405',
    script: replies(405, 'invalid_request_error', 'not like this'),
    type: 'ModelRejected',
    says: /not like this.*405/,
  },
  { what: '408', script: replies(408, 'timeout', 'too slow'), type: 'ModelBusy', says: /too slow.*408/ },
  {
    what: '409',
    script: replies(409, 'conflict', 'busy with another'),
    type: 'ModelBusy',
    says: /busy with another.*409/,
  },
  {
    what: '413',
    script: replies(413, 'request_too_large', 'too large'),
    type: 'ModelRejected',
    details: { inputAtFault: true },
  },
  {
    what: '422',
    script: replies(422, 'invalid_request_error', 'no sense'),
    type: 'ModelRejected',
    details: { inputAtFault: true },
  },
  { what: '429', script: replies(429, 'rate_limit_error', 'slow down'), type: 'ModelBusy', says: /slow down.*429/ },
  {
    what: '429 with a time in seconds',
    script: replies(429, 'rate_limit_error', 'slow down', { 'retry-after': '7' }),
    type: 'ModelBusy',
    details: { retryAfterMs: 7_000 },
  },
  {
    what: '429 with a time in milliseconds',
    script: replies(429, 'rate_limit_error', 'slow down', { 'retry-after': '7', 'retry-after-ms': '6500' }),
    type: 'ModelBusy',
    details: { retryAfterMs: 6_500 },
  },
  {
    what: '429 with a date',
    script: (dialect) => replies(429, 'rate_limit_error', 'slow down', { 'retry-after': soon() })(dialect),
    type: 'ModelBusy',
    details: { retryAfterMs: expect.any(Number) as number },
  },
  {
    what: '429 for a spent quota',
    script: replies(429, 'insufficient_quota', 'you exceeded your quota'),
    type: 'ModelRejected',
    says: /exceeded your quota.*used up/,
    only: ['openai-compatible', 'openai'],
  },
  { what: '500', script: replies(500, 'api_error', 'we are sorry'), type: 'ModelBusy', says: /we are sorry.*500/ },
  {
    what: '500 from a proxy that speaks HTML',
    script: () => async (exchange) => exchange.reply(500, '<html><h1>The cat sat on the cable</h1></html>'),
    type: 'ModelBusy',
    says: /The cat sat on the cable/,
  },
  {
    what: '500 for an image that the model cannot read',
    script: replies(500, 'server_error', 'image input is not supported'),
    type: 'ModelRejected',
    details: { inputAtFault: true },
  },
  { what: '502', script: () => async (exchange) => exchange.reply(502, ''), type: 'ModelBusy', says: /502/ },
  {
    what: '503 with a time',
    script: replies(503, 'server_error', 'later', { 'retry-after': '3' }),
    type: 'ModelBusy',
    details: { retryAfterMs: 3_000 },
  },
  { what: '504', script: replies(504, 'timeout', 'too slow'), type: 'ModelBusy', says: /504/ },
  {
    what: '529',
    script: replies(529, 'overloaded_error', 'too many kettles'),
    type: 'ModelBusy',
    says: /too many kettles.*529/,
  },
  {
    what: 'a context overflow by its code',
    script: replies(400, 'context_length_exceeded', 'that was a lot'),
    type: 'ContextOverflow',
    only: ['openai-compatible', 'openai'],
  },
  {
    what: 'a context overflow in words',
    script: replies(400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
    type: 'ContextOverflow',
  },
  {
    what: 'a context overflow in other words',
    script: replies(
      400,
      'invalid_request_error',
      'input length and max_tokens exceed context limit: 197202 + 21333 > 200000',
    ),
    type: 'ContextOverflow',
  },
];

const RETRYABLE: readonly FailureType[] = ['StreamBroken'];

/** The rows of the faults that each provider can have. */
const rows = (faults: Fault[]) =>
  PROVIDERS.flatMap((name) =>
    faults.filter(({ only }) => only?.includes(name) ?? true).map((fault) => ({ name, fault, what: fault.what })),
  );

async function expectFault(name: ProviderName, { script, type, says, details = {} }: Fault): Promise<void> {
  const { task } = tried(name, script(DIALECTS[name]));
  const expected = typeof type === 'function' ? type(name) : type;
  const failure = await failureOf(task);
  expect(failure).toMatchObject({ type: expected, retryable: RETRYABLE.includes(expected), attempt: 1, ...details });
  if (details.inputAtFault === undefined) expect(failure.inputAtFault).toBeUndefined();
  // An account whose provider names no time gets one of ours.
  if (details.retryAfterMs === undefined) expect(failure.retryAfterMs ?? 0).toBeLessThanOrEqual(1_000);
  if (says) expect(failure.message).toMatch(says);
}

test.each(rows(STREAM_FAULTS))('$what from $name ends the try and leaves no answer', async ({ name, fault }) => {
  await expectFault(name, fault);
  expect(await storedParts()).toEqual([]);
  expect(await finalTexts()).toEqual([]);
});

test.each(rows(TOOL_FAULTS))('$what from $name dispatches no tool', async ({ name, fault }) => {
  providers.says({ toolCalls: [{ name: 'note', arguments: '{"greek":"kappa lambda my"}' }] }, { chunkSize: 12 });
  await expectFault(name, fault);
  expect(await storedParts()).toEqual([]);
});

test.each(rows(REPLIES))('a reply $what from $name', async ({ name, fault }) => {
  await expectFault(name, fault);
});

test('a date to retry at counts from now', async () => {
  const { task } = tried(
    'openai',
    replies(429, 'rate_limit_error', 'slow', { 'retry-after': soon() })(DIALECTS.openai),
  );
  const { retryAfterMs } = await failureOf(task);
  expect(retryAfterMs).toBeGreaterThan(40_000);
  expect(retryAfterMs).toBeLessThanOrEqual(60_000);
});

test('an OpenAI-compatible stream without its terminator line is whole', async () => {
  const { task } = tried('openai-compatible', async (exchange) => {
    await exchange.before('[DONE]');
    exchange.end();
  });
  expect((await task.end).result).toMatchObject(COMPLETED);
});

test.each(PROVIDERS)(
  'an error event of %s stops the request at once, for its answer would count for nothing',
  async (name) => {
    const { task, provider } = tried(name, async (exchange) => {
      await exchange.through('alpha');
      await exchange.write(DIALECTS[name].error('server_error', 'the kettle is empty'));
    });
    await failureOf(task);
    await until('the provider to see the end of the request', () => provider.proxy.requests[0]?.abortedAtMs, 2_000);
  },
);

/** Silence of every kind: the server's heartbeat timeout must end it, and the provider must see the end. */
const SILENCES: { what: string; script(dialect: Dialect): Script }[] = [
  { what: 'no headers', script: () => (exchange) => exchange.gone },
  { what: 'headers and then nothing', script: () => (exchange) => exchange.headers() },
  { what: 'some text and then nothing', script: afterSomeText((exchange) => exchange.gone) },
  {
    what: 'comments alone',
    script: () => async (exchange) => {
      await exchange.headers();
      await exchange.repeat(': still here\n\n', 50);
    },
  },
  { what: 'some text and then comments', script: afterSomeText((exchange) => exchange.repeat(': still here\n\n', 50)) },
  { what: 'some text and then pings', script: afterSomeText((exchange, dialect) => exchange.repeat(dialect.ping, 50)) },
  {
    what: 'some text and then empty deltas',
    script: (dialect) => async (exchange) => {
      let item = '';
      await exchange.forward(
        (event) => event.includes('amma d'),
        (event) => {
          item = /"item_id":"([^"]*)"/.exec(event)?.[1] ?? item;
          return event;
        },
      );
      await exchange.repeat(dialect.emptyDelta.replace('ITEM', item), 50);
    },
  },
];

/** Each provider at the same time, each with a world of its own: these tests are made of waiting. */
async function withEachProvider(run: (provider: TestProvider, own: ActivityWorld) => Promise<void>): Promise<void> {
  const once = async (name: ProviderName) => {
    const own = await ActivityWorld.open();
    await run(providers.get(name), own).finally(() => own.close());
  };
  await Promise.all(PROVIDERS.map(once));
}

test.each(SILENCES)('$what is silence, whatever the provider', async ({ script }) => {
  await withEachProvider(async ({ name, model, proxy }, own) => {
    proxy.next(script(DIALECTS[name]));
    const task = own.worker(model, { budgetsMs: SHORT_BUDGETS }).callModel({}, { heartbeatTimeoutMs: 1_000 });
    const { failure, tookMs } = await task.end;
    expect({ name, message: failure?.message }).toEqual({ name, message: 'TIMED_OUT' });
    expect(tookMs).toBeGreaterThanOrEqual(900);
    expect(tookMs).toBeLessThan(6_000);
    await until(`${name} to see the end of the request`, () => proxy.requests[0]?.abortedAtMs, 2_000);
  });
});

/** Healthy, though slow: none may be taken for silence. */
const SLOW: { what: string; script?: Script; phase: Phase }[] = [
  { what: 'a stream of few tokens a second', phase: 'streaming' },
  {
    what: 'a silence that ends within its budget',
    script: async (exchange) => {
      await exchange.through('beta');
      await delay(1_200);
      await passedOn(exchange);
    },
    phase: 'streaming',
  },
  {
    what: 'a first token that takes longer than the stream gap, with its headers held back',
    script: async (exchange) => {
      await delay(3_000);
      await passedOn(exchange);
    },
    phase: 'prefill',
  },
];

test.each(SLOW)('$what is no silence, whatever the provider', async ({ script, phase }) => {
  if (!script) providers.says({ content: WORDS }, { streamingProfile: { ttft: 1_000, tps: 4 } });
  await withEachProvider(async ({ model, proxy }, own) => {
    if (script) proxy.next(script);
    const heartbeatTimeoutMs = PATIENT_BUDGETS.streaming;
    const task = own.worker(model, { budgetsMs: PATIENT_BUDGETS }).callModel({}, { heartbeatTimeoutMs });
    expect(await answerOf(task)).toMatchObject(COMPLETED);
    expect(task.heartbeats.map((beat) => beat.details.phase)).toContain(phase);
  });
});
