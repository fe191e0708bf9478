import { CancelledFailure } from '@temporalio/common';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { createDemoModel } from '../../activities/demo-model.js';
import { createModel, ModelSpecError } from '../../activities/models.js';
import { accumulate, answerText, EMPTY_TRANSCRIPT } from '../../protocol/accumulate.js';
import { LIMITS } from '../../protocol/limits.js';
import { DEFAULT_PROFILE, profileVersion } from '../../protocol/liveness.js';
import type { Output } from '../../protocol/outputs.js';
import { StoreUnavailableError } from '../../store/session-store.js';
import { aCall, aModel, aModelThatSays, aText, streamOf } from '../support/activity-models.js';
import { givenProviders } from '../support/activity-providers.js';
import {
  type ActivityWorld,
  answerOf,
  aTool,
  failureOf,
  PATIENT_BUDGETS,
  SHORT_BUDGETS,
  toolCallsOf,
} from '../support/activity-world.js';
import { DIALECTS } from '../support/activity-dialects.js';
import type { Script } from '../support/fault-proxy.js';
import { KEYS, PROVIDERS, type TestProviders } from '../support/provider.js';
import { aMessage, SESSION } from '../support/store-builders.js';
import { until } from '../support/until.js';

const WORDS = 'alpha beta gamma delta epsilon';
const COMPLETED = { kind: 'answered', outcome: 'completed', reason: null };

let providers: TestProviders;
let world: ActivityWorld;
givenProviders((given) => ({ providers, world } = given), WORDS);

const quiet: Script = (exchange) => exchange.gone;
const quietAfterAlpha: Script = (exchange) => exchange.through('alpha');

/** Waits until the provider has got so many requests. */
const requested = (count: number, { proxy } = providers.get('openai')) =>
  until(`request ${count}`, () => proxy.requests[count - 1], 5_000);

const ofKind = <Kind extends Output['kind']>(outputs: Output[], kind: Kind) =>
  outputs.filter((output): output is Extract<Output, { kind: Kind }> => output.kind === kind);

const written = async <Kind extends Output['kind']>(kind: Kind) => ofKind(await world.journal(), kind);

describe('a call that was made before', () => {
  test('gives the result that the store holds, and the provider is not asked again', async () => {
    const { model, proxy } = providers.get('openai');
    const worker = world.worker(model);
    const first = await answerOf(worker.callModel());
    expect(await answerOf(worker.callModel({}, { attempt: 2 }))).toEqual({ ...first, attempt: 2 });
    expect(await answerOf(worker.callModel({ dispatch: 2 }))).toEqual(first);
    expect(proxy.requests).toHaveLength(1);
    expect(await written('TextOutput')).toHaveLength(1);
  });

  test('for a message that another turn has taken is answered as repeated, and nothing is asked', async () => {
    const { model, proxy } = providers.get('openai');
    const worker = world.worker(model);
    await answerOf(worker.callModel());
    const { result } = await worker.callModel({ turnId: 't2', callId: 't2.1', head: 't1.1.out' }).end;
    expect(result).toMatchObject({ kind: 'repeated', first: { itemId: 'm1', turnId: 't1' } });
    expect(proxy.requests).toHaveLength(1);
  });
});

describe.each(PROVIDERS)('a call to %s that broke and is tried again', (name) => {
  test('asks the same, byte for byte', async () => {
    const { model, proxy } = providers.get(name);
    const tools = [aTool({ name: 'note', input: z.object({ n: z.number() }) })];
    const worker = world.worker(model, { instructions: 'Be brief.', tools });
    providers.says({
      content: WORDS,
      reasoning: 'because',
      toolCalls: [{ name: 'note', arguments: '{"n":1}', id: 'call_1' }],
    });
    const { head } = await answerOf(worker.callModel());
    await worker.callTool({ name: 'note' }).end;
    providers.says({ content: WORDS });
    proxy.next(async (exchange) => {
      await exchange.through('beta');
      await exchange.reset();
    });
    const second = {
      callId: 't1.2',
      head,
      append: [{ kind: 'toolResult' as const, toolCallId: 't1.1.t1', name: 'note', lost: null }],
    };
    expect(await failureOf(worker.callModel(second))).toMatchObject({ type: 'StreamBroken' });
    expect(await answerOf(worker.callModel(second, { attempt: 2 }))).toMatchObject({ attempt: 2 });
    expect(proxy.requests[2]!.body).toBe(proxy.requests[1]!.body);
    expect(proxy.requests[1]!.body).toContain(WORDS);
    expect(proxy.requests[1]!.body).toContain('done');
  });

  test('takes back what the broken try had shown, and then answers whole', async () => {
    const { model, proxy } = providers.get(name);
    proxy.next(async (exchange) => {
      await exchange.through('beta');
      await delay(300); // what was streamed is in the journal by now
      await exchange.reset();
    });
    const worker = world.worker(model);
    await failureOf(worker.callModel());
    await answerOf(worker.callModel({}, { attempt: 2 }));
    const outputs = await world.journal();
    const discardedAt = outputs.findIndex((output) => output.kind === 'TextStreamDiscarded');
    const ofBrokenTry = outputs
      .map((output, at) => ({ at, ...output }))
      .filter((output) => output.kind === 'TextDelta' && output.try.attempt === 1);
    expect(ofBrokenTry.length).toBeGreaterThan(0);
    for (const { at } of ofBrokenTry) expect(at).toBeLessThan(discardedAt);
    expect(answerText(accumulate(EMPTY_TRANSCRIPT, outputs).turns[0]!)).toBe(WORDS);
    expect(await written('TextOutput')).toMatchObject([{ text: WORDS, try: { dispatch: 1, attempt: 2 } }]);
  });
});

test('Anthropic gets back the signature of its reasoning', async () => {
  const { model, proxy } = providers.get('anthropic');
  const worker = world.worker(model);
  providers.says({ content: WORDS, reasoning: 'because', reasoningSignature: 'SIGNED' });
  const { head } = await answerOf(worker.callModel());
  await answerOf(worker.callModel({ turnId: 't2', callId: 't2.1', head, append: [aMessage('m2')] }));
  expect(proxy.requests[1]!.body).toContain('"signature":"SIGNED"');
  expect(proxy.requests[1]!.body).toContain('"thinking":"because"');
});

test('OpenAI gets its own words back in full, not as references to a storage that forgets', async () => {
  const { model, proxy } = providers.get('openai');
  const worker = world.worker(model);
  providers.says({ content: WORDS, reasoning: 'because' });
  const { head } = await answerOf(worker.callModel());
  await answerOf(worker.callModel({ turnId: 't2', callId: 't2.1', head, append: [aMessage('m2')] }));
  const { body } = proxy.requests[1]!;
  expect(body).not.toContain('item_reference');
  expect(body).toContain(WORDS);
  expect(body).toContain('encrypted_content');
  expect(JSON.parse(body)).toMatchObject({ store: false });
});

describe('a try that is no longer the newest', () => {
  test('stops its request at its next write, and writes nothing', async () => {
    const { model, proxy } = providers.get('openai');
    proxy.next(async (exchange) => {
      await exchange.through('alpha');
      await until('the second request', () => proxy.requests.length > 1);
      await exchange.through('epsilon');
    });
    const worker = world.worker(model);
    const old = worker.callModel();
    await requested(1);
    await until('its first words', async () => (await written('TextDelta')).length > 0);
    const second = await answerOf(worker.callModel({}, { attempt: 2 }));
    expect(await failureOf(old)).toMatchObject({ type: 'StaleTry', retryable: false });
    await until('the end of the old request', () => proxy.requests[0]!.abortedAtMs, 2_000);
    const ofOldTry = (await world.journal()).filter((output) => 'try' in output && output.try.attempt === 1);
    expect(ofOldTry.map((output) => output.kind)).toEqual(['TextDelta', 'TextStreamDiscarded']);
    expect(await world.store.transcript(SESSION, second.head)).toHaveLength(2);
  });

  test('asks nothing when it comes too late', async () => {
    const { model, proxy } = providers.get('openai');
    proxy.next(quiet);
    const worker = world.worker(model);
    const newer = worker.callModel({}, { attempt: 2 });
    await requested(1);
    expect(await failureOf(worker.callModel({}, { attempt: 1 }))).toMatchObject({ type: 'StaleTry' });
    expect(proxy.requests).toHaveLength(1);
    newer.cancel();
    await newer.end;
  });
});

describe('a cancel', () => {
  test.each([
    ['before the headers', quiet],
    ['in a silent stream', quietAfterAlpha],
  ])('%s reaches the provider', async (_when, script) => {
    const { model, proxy } = providers.get('openai');
    proxy.next(script);
    const task = world.worker(model).callModel();
    await requested(1);
    await delay(100);
    const cancelledAtMs = Date.now();
    task.cancel();
    const { failure } = await task.end;
    expect(failure).toBeInstanceOf(CancelledFailure);
    const abortedAtMs = await until('the provider to see it', () => proxy.requests[0]!.abortedAtMs, 2_000);
    expect(abortedAtMs - cancelledAtMs).toBeLessThan(2_000);
  });

  test('that comes first asks nothing', async () => {
    const { model, proxy } = providers.get('openai');
    const task = world.worker(model).callModel();
    task.cancel();
    expect((await task.end).failure).toBeInstanceOf(CancelledFailure);
    await delay(100);
    expect(proxy.requests).toHaveLength(0);
  });

  test.each([
    ['answers never', aModel(() => new Promise(() => undefined))],
    ['streams nothing', aModel(() => Promise.resolve(new ReadableStream()))],
  ])('ends a call to a model that %s and does not heed it', async (_what, model) => {
    const task = world.worker(model).callModel();
    await delay(100);
    task.cancel();
    expect((await task.end).failure).toBeInstanceOf(CancelledFailure);
  });

  test('by a worker that shuts down says so, for the call goes on elsewhere', async () => {
    const { model, proxy } = providers.get('openai');
    proxy.next(quietAfterAlpha);
    const task = world.worker(model).callModel();
    await requested(1);
    task.cancel('WORKER_SHUTDOWN');
    expect(await failureOf(task)).toMatchObject({ type: 'WorkerDraining', retryable: false, attempt: 1 });
    await until('the provider to see it', () => proxy.requests[0]!.abortedAtMs, 2_000);
  });
});

describe('what the session assumed', () => {
  test('of the agent’s settings is corrected before anything is asked', async () => {
    const { model, proxy } = providers.get('openai');
    const stale = { profileVersion: profileVersion({ ...DEFAULT_PROFILE, stepsPerTurn: 1 }) };
    const { failure } = await world.worker(model).callModel(stale).end;
    expect(failure).toMatchObject({ type: 'ProfileChanged', nonRetryable: true });
    expect((failure as unknown as { details: unknown[] }).details[1]).toEqual(DEFAULT_PROFILE);
    expect(proxy.requests).toHaveLength(0);
  });

  test('of its agent is refused with what to do, when this worker does not have it', async () => {
    const { model } = providers.get('openai');
    const failure = await failureOf(world.worker(model).callModel({ agent: 'other' }));
    expect(failure).toMatchObject({ type: 'AgentUnavailable', retryable: false });
    expect(failure.message).toMatch(/"other".*it has: tester.*vigil resume acme\/s1/);
  });

  test('of its transcript is refused, when the store does not hold it', async () => {
    const { model, proxy } = providers.get('openai');
    const failure = await failureOf(world.worker(model).callModel({ head: 'gone', turnId: 't9', callId: 't9.1' }));
    expect(failure).toMatchObject({ type: 'TranscriptMissing', retryable: false });
    expect(proxy.requests).toHaveLength(0);
  });
});

describe('a store that does not answer', () => {
  const unavailable = () => Promise.reject(new StoreUnavailableError('the disk is full'));

  test('at the beginning asks nothing', async () => {
    const { model, proxy } = providers.get('openai');
    const failure = await failureOf(world.worker(model, {}, world.storeWith({ beginTry: unavailable })).callModel());
    expect(failure).toMatchObject({
      type: 'StoreUnavailable',
      retryable: false,
      message: 'the disk is full',
      phase: 'setup',
    });
    expect(proxy.requests).toHaveLength(0);
  });

  test('in the stream ends the request', async () => {
    const { model, proxy } = providers.get('openai');
    proxy.next(quietAfterAlpha);
    const failure = await failureOf(
      world.worker(model, {}, world.storeWith({ appendTryOutputs: unavailable })).callModel(),
    );
    expect(failure).toMatchObject({ type: 'StoreUnavailable', message: 'the disk is full' });
    await until('the provider to see it', () => proxy.requests[0]!.abortedAtMs, 2_000);
  });

  test('at the end fails the call, which is asked again later', async () => {
    const { model } = providers.get('openai');
    const failure = await failureOf(world.worker(model, {}, world.storeWith({ finishTry: unavailable })).callModel());
    expect(failure).toMatchObject({ type: 'StoreUnavailable', phase: 'finish' });
    expect(await answerOf(world.worker(model).callModel({ dispatch: 2 }))).toMatchObject(COMPLETED);
  });
});

test('a session that goes on after its workflow was lost is told so, once a call', async () => {
  const worker = world.worker(aModelThatSays(...aText('hello')));
  await answerOf(worker.callModel());
  await answerOf(
    worker.callModel({ chain: 'chain-2', turnId: 't2', callId: 't2.1', head: null, append: [aMessage('m2')] }),
  );
  expect(await written('Notice')).toMatchObject([{ code: 'session_restarted', isCallBoundary: false }]);
});

test.each(PROVIDERS)(
  'the key of %s is in no failure, output or log, even when the provider repeats it',
  async (name) => {
    const { model, proxy } = providers.get(name);
    const key = { 'openai-compatible': KEYS.compatible, openai: KEYS.openai, anthropic: KEYS.anthropic }[name];
    const { errorBody, error } = DIALECTS[name];
    proxy.next(
      async (exchange) => exchange.reply(401, errorBody('authentication_error', `${key} is no key`)),
      async (exchange) => exchange.reply(500, `<p>${'x'.repeat(281)} ${key}</p>`),
      async (exchange) => {
        await exchange.through('alpha');
        await exchange.write(error('server_error', `trouble with ${key}`));
        exchange.end();
      },
    );
    const worker = world.worker(model);
    const shown = [];
    for (const attempt of [1, 2, 3]) {
      const { failure } = await worker.callModel({}, { attempt }).end;
      shown.push(failure!.message, failure!.stack, JSON.stringify(failure));
    }
    expect(JSON.stringify(proxy.requests[0]!.headers)).toContain(key); // it was sent, or this tests nothing
    expect(shown.join()).toContain('[key] is no key');
    shown.push(JSON.stringify(await world.journal()), ...world.logged);
    expect(world.logged.length).toBeGreaterThan(0);
    expect(shown.join()).not.toContain('PLANTED');
  },
);

describe('a model specification', () => {
  const settings = { compatibleApiKey: 'key-PLANTED-3333' };

  test.each([
    ['gpt-5', /is not a model; write demo/],
    ['openai:', /is not a model/],
    ['http://127.0.0.1:1/v1', /names no model/],
    ['openai:gpt-5', /OPENAI_API_KEY/],
    ['anthropic:claude', /ANTHROPIC_API_KEY/],
  ])('%p is refused with what to do', (spec, message) => {
    expect(() => createModel(spec, settings)).toThrow(ModelSpecError);
    expect(() => createModel(spec, settings)).toThrow(message);
  });

  test('with a password in its address is refused without repeating it', () => {
    const refused = (run: () => unknown) => {
      expect(run).toThrow(/127\.0\.0\.1:1 holds a password; leave it out/);
      expect(run).not.toThrow(/PLANTED/);
    };
    refused(() => createModel('http://me:PLANTED@127.0.0.1:1/v1#m', {}));
    refused(() => createModel('http://me:PLANTED@127.0.0.1:1/v1', {}));
    refused(() =>
      createModel('openai:gpt-5', { openaiApiKey: 'k', openaiBaseUrl: 'http://me:PLANTED@127.0.0.1:1/v1' }),
    );
    refused(() =>
      createModel('anthropic:c', { anthropicApiKey: 'k', anthropicBaseUrl: 'http://me:PLANTED@127.0.0.1:1/' }),
    );
  });

  test('that cannot be used fails the call with the reason', async () => {
    const task = world.worker(() => createModel('gpt-5', {})).callModel();
    expect(await failureOf(task)).toMatchObject({
      type: 'ModelRejected',
      message: expect.stringMatching(/is not a model/) as string,
    });
  });
});

describe('an image', () => {
  const withImage = async () => {
    const ref = await world.store.putBlob({ bytes: new Uint8Array([1, 2, 3]), mediaType: 'image/png' });
    return {
      append: [{ ...aMessage('m1'), parts: [{ kind: 'image' as const, ref, mediaType: 'image/png' }] }],
    } as object;
  };

  test('for a model of text alone is refused clearly, and is not sent again', async () => {
    const failure = await failureOf(world.worker(createDemoModel()).callModel(await withImage()));
    expect(failure).toMatchObject({ type: 'ModelRejected', inputAtFault: true });
    expect(failure.message).toMatch(/does not take.*image\/png/);
  });

  test.each(PROVIDERS)('reaches %s', async (name) => {
    const { model, proxy } = providers.get(name);
    await answerOf(world.worker(model).callModel(await withImage()));
    expect(proxy.requests[0]!.body).toContain(Buffer.from([1, 2, 3]).toString('base64'));
  });

  test('that the store lost is named', async () => {
    const append = [
      { ...aMessage('m1'), parts: [{ kind: 'image' as const, ref: 'blob:gone', mediaType: 'image/png' }] },
    ];
    const failure = await failureOf(world.worker(createDemoModel()).callModel({ append }));
    expect(failure).toMatchObject({ type: 'ModelRejected', inputAtFault: true });
    expect(failure.message).toMatch(/blob:gone/);
  });
});

describe('output without end', () => {
  test('is stopped at the limit, and the request with it', async () => {
    const { model, proxy } = providers.get('openai-compatible');
    const chunk = DIALECTS['openai-compatible'].emptyDelta.replace('"content":""', `"content":"${'x'.repeat(50_000)}"`);
    proxy.next(async (exchange) => {
      await exchange.headers();
      await exchange.repeat(chunk, 2);
    });
    const failure = await failureOf(world.worker(model).callModel());
    expect(failure).toMatchObject({ type: 'ModelRejected', retryable: false, phase: 'streaming' });
    expect(failure.message).toMatch(/more than 1000000 characters in one call/);
    expect(failure.inputAtFault).toBeUndefined();
    await until('the provider to see it', () => proxy.requests[0]!.abortedAtMs, 2_000);
  });

  test.each<[string, () => ReturnType<typeof aModelThatSays>]>([
    [
      'reasoning',
      () => aModelThatSays({ type: 'reasoning-delta', id: '0', delta: 'x'.repeat(LIMITS.outputCharsPerCall + 1) }),
    ],
    [
      'arguments',
      () => aModelThatSays({ type: 'tool-input-delta', id: '0', delta: 'x'.repeat(LIMITS.outputCharsPerCall + 1) }),
    ],
    ['a whole tool call', () => aModelThatSays(aCall('note', 'x'.repeat(LIMITS.outputCharsPerCall + 1)))],
  ])('counts %s', async (_what, model) => {
    expect(await failureOf(world.worker(model()).callModel())).toMatchObject({ type: 'ModelRejected' });
  });

  test('up to the limit is an answer', async () => {
    const input = JSON.stringify('x'.repeat(LIMITS.outputCharsPerCall - 100));
    const model = aModelThatSays({ type: 'tool-input-delta', id: 'call_1', delta: input }, aCall('note', input));
    expect(await answerOf(world.worker(model).callModel())).toMatchObject({ kind: 'toolCalls' });
  });

  test('in tool calls is stopped too', async () => {
    const calls = (count: number) => Array.from({ length: count }, (_, index) => aCall('note', '{}', `c${index}`));
    const failure = await failureOf(world.worker(aModelThatSays(...calls(LIMITS.toolCallsPerCall + 1))).callModel());
    expect(failure).toMatchObject({
      type: 'ModelRejected',
      message: expect.stringMatching(/201 tools at once; 200/) as string,
    });
    const most = aModelThatSays(...calls(LIMITS.toolCallsPerCall));
    expect(await toolCallsOf(world.worker(most).callModel({ dispatch: 2 }))).toHaveLength(200);
  });
});

test('an answer says how each of its tools is to be run', async () => {
  const tools = [
    aTool({ name: 'slow', input: z.object({}), silenceMs: 120_000 }),
    aTool({ name: 'again', input: z.object({}), idempotent: true }),
  ];
  const model = aModelThatSays(aCall('slow', '{}', 'a'), aCall('again', '{}', 'b'), aCall('made_up', '{}', 'c'));
  expect(await toolCallsOf(world.worker(model, { tools }).callModel())).toEqual([
    { toolCallId: 't1.1.t1', name: 'slow', heartbeatTimeoutMs: 120_000, maximumAttempts: 1 },
    { toolCallId: 't1.1.t2', name: 'again', heartbeatTimeoutMs: 60_000, maximumAttempts: 3 },
    { toolCallId: 't1.1.t3', name: 'made_up', heartbeatTimeoutMs: 60_000, maximumAttempts: 1 },
  ]);
});

test('an answer that was cut keeps its text and none of its calls', async () => {
  const finish = {
    type: 'finish',
    finishReason: { unified: 'length', raw: 'length' },
    usage: usageOfNothing(),
  } as const;
  const model = aModelThatSays(...aText('so far'), aCall('note', '{}'), finish);
  expect(await answerOf(world.worker(model).callModel())).toMatchObject({
    kind: 'answered',
    outcome: 'completed',
    reason: expect.stringMatching(/cut/) as string,
  });
  const entry = await world.store.findEntry(SESSION, 't1.1.out');
  expect(entry?.content).toMatchObject({ parts: [{ kind: 'text', text: 'so far' }] });
});

test('an answer that was cut before it said anything is a failure of its turn', async () => {
  const finish = {
    type: 'finish',
    finishReason: { unified: 'length', raw: 'length' },
    usage: usageOfNothing(),
  } as const;
  const model = aModelThatSays(...aText(' \n'), finish);
  expect(await answerOf(world.worker(model).callModel())).toMatchObject({ kind: 'answered', outcome: 'failed' });
});

function usageOfNothing() {
  return {
    inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: undefined, text: undefined, reasoning: undefined },
  };
}

test('a fault in the model’s own code is a defect, which no retry hides', async () => {
  const broken = aModel(() => Promise.reject(new Error('undefined is not a function')));
  expect(await failureOf(world.worker(broken).callModel())).toMatchObject({ type: 'Defect', retryable: false });
});

test('a stream that goes on after its finish, or breaks there, is an answer', async () => {
  const parts = [
    ...aText('whole'),
    ...[{ type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: usageOfNothing() } as const],
  ];
  const endless = aModel(() =>
    Promise.resolve(new ReadableStream({ start: (controller) => parts.forEach((part) => controller.enqueue(part)) })),
  );
  expect(await answerOf(world.worker(endless).callModel())).toMatchObject(COMPLETED);
  let sent = false;
  const breaking = aModel(() =>
    Promise.resolve(
      new ReadableStream({
        pull(controller) {
          if (sent) controller.error(new Error('reset'));
          else parts.forEach((part) => controller.enqueue(part));
          sent = true;
        },
      }),
    ),
  );
  expect(
    await answerOf(
      world.worker(breaking).callModel({ turnId: 't2', callId: 't2.1', head: 't1.1.out', append: [aMessage('m2')] }),
    ),
  ).toMatchObject(COMPLETED);
});

describe('a beat', () => {
  test('goes out when what it vouches for is in the journal', async () => {
    let writtenChars = 0;
    const store = world.storeWith({
      appendTryOutputs: async (ref, outputs) => {
        await delay(20);
        await world.store.appendTryOutputs(ref, outputs);
        writtenChars += outputs.reduce(
          (sum, output) => sum + (output.kind === 'TextDelta' ? output.text.length : 0),
          0,
        );
      },
    });
    const { model } = providers.get('openai');
    providers.says({ content: WORDS.repeat(4) }, { streamingProfile: { ttft: 100, tps: 15 } });
    const task = world.worker(model, { budgetsMs: SHORT_BUDGETS }, store).callModel();
    const seen: { vouched: number; written: number }[] = [];
    let known = 0;
    const watching = setInterval(() => {
      for (; known < task.heartbeats.length; known++) {
        seen.push({ vouched: task.heartbeats[known]!.details.charsReceived, written: writtenChars });
      }
    }, 1);
    await answerOf(task).finally(() => clearInterval(watching));
    expect(seen.length).toBeGreaterThan(1);
    for (const { vouched, written: there } of seen) expect(there).toBeGreaterThanOrEqual(vouched);
  });

  test('that waits for the journal is not sent any more when the try has ended', async () => {
    const { model, proxy } = providers.get('openai');
    let isBeating = false;
    const store = world.storeWith({
      appendTryOutputs: async (ref, outputs) => {
        await world.store.appendTryOutputs(ref, outputs);
        if (!isBeating) return;
        await delay(300);
      },
    });
    proxy.next(async (exchange) => {
      await exchange.through('alpha');
      await delay(250);
      isBeating = true;
      await exchange.through('beta'); // its beat is due while its write takes time
      await delay(200);
      await exchange.reset();
    });
    const task = world.worker(model, { budgetsMs: SHORT_BUDGETS }, store).callModel();
    await failureOf(task);
    const sent = task.heartbeats.length;
    await delay(500);
    expect(task.heartbeats).toHaveLength(sent);
  });

  test('comes from every phase that may be silent for longer than T', async () => {
    async function* parts() {
      await delay(100);
      yield { type: 'reasoning-start', id: '0' } as const;
      await delay(2_000);
      yield { type: 'reasoning-delta', id: '0', delta: 'hm' } as const;
      yield { type: 'reasoning-end', id: '0' } as const;
      await delay(2_000);
      yield* aText('so');
      yield { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: usageOfNothing() } as const;
    }
    const iterator = parts();
    const model = aModel(() =>
      Promise.resolve(
        new ReadableStream({
          async pull(controller) {
            const { done, value } = await iterator.next();
            if (done) controller.close();
            else controller.enqueue(value);
          },
        }),
      ),
    );
    const budgetsMs = { ...PATIENT_BUDGETS, reasoning: 6_000, thinkingGap: 6_000 };
    const task = world.worker(model, { budgetsMs }).callModel({}, { heartbeatTimeoutMs: PATIENT_BUDGETS.streaming });
    expect(await answerOf(task)).toMatchObject(COMPLETED);
    const phases = new Set(task.heartbeats.map((beat) => beat.details.phase));
    expect(phases).toContain('reasoning');
    expect(phases).toContain('thinkingGap');
  });
});

test('a silence is announced in the journal at 60 % of its budget', async () => {
  const { model, proxy } = providers.get('openai');
  proxy.next(quietAfterAlpha);
  const task = world.worker(model, { budgetsMs: SHORT_BUDGETS }).callModel();
  const [warning] = await until(
    'a warning',
    async () => {
      const warnings = await written('StallWarning');
      return warnings.length > 0 && warnings;
    },
    5_000,
  );
  expect(warning).toMatchObject({
    phase: 'streaming',
    budgetMs: 1_000,
    callId: 't1.1',
    try: { dispatch: 1, attempt: 1 },
  });
  task.cancel();
  await task.end;
});

test('blocks without content are silence', async () => {
  function* emptyBlocks() {
    for (let id = 0; ; id++) {
      yield { type: 'text-start', id: String(id) } as const;
      yield { type: 'text-delta', id: String(id), delta: '' } as const;
      yield { type: 'text-end', id: String(id) } as const;
      yield { type: 'reasoning-start', id: String(id) } as const;
      yield { type: 'reasoning-end', id: String(id) } as const;
    }
  }
  const blocks = emptyBlocks();
  const model = aModel(() =>
    Promise.resolve(
      new ReadableStream({
        async pull(controller) {
          await delay(10);
          controller.enqueue(blocks.next().value!);
        },
      }),
    ),
  );
  const task = world.worker(model, { budgetsMs: SHORT_BUDGETS }).callModel({}, { heartbeatTimeoutMs: 1_000 });
  expect((await task.end).failure).toMatchObject({ message: 'TIMED_OUT' });
});

test('a request is not begun twice by one try', async () => {
  let asked = 0;
  const model = aModel(() => {
    asked++;
    return Promise.resolve(streamOf(aText('no finish')));
  });
  expect(await failureOf(world.worker(model).callModel())).toMatchObject({ type: 'StreamBroken' });
  expect(asked).toBe(1);
});
