import type { LanguageModelV3, LanguageModelV3StreamPart } from '@ai-sdk/provider';
import { setTimeout as delay } from 'node:timers/promises';
import type { Progress } from '../../protocol/liveness.js';
import { ActivityWorld, answerOf, failureOf, SHORT_BUDGETS } from '../support/activity-world.js';
import { aFinish, aModel, aText } from '../support/activity-models.js';

/** A silence in prefill is over after ten times the stream gap, unless the model is known to be quicker. */
const BUDGETS = { ...SHORT_BUDGETS, prefill: 10_000 };
const T = BUDGETS.streaming;

let world: ActivityWorld;
beforeEach(async () => {
  world = await ActivityWorld.open();
});
afterEach(() => world.close());

const EMPTY: LanguageModelV3StreamPart = { type: 'text-delta', id: '0', delta: '' };

/** Says the parts, then goes on sending keepalives, and nothing else, until it is aborted. */
function fallsSilentAfter(...parts: LanguageModelV3StreamPart[]): LanguageModelV3 {
  return aModel((options) => {
    const { abortSignal } = options;
    const stream = new ReadableStream<LanguageModelV3StreamPart>({
      start(controller) {
        parts.forEach((part) => controller.enqueue(part));
        const keepalive = setInterval(() => controller.enqueue(EMPTY), 50);
        abortSignal?.addEventListener('abort', () => clearInterval(keepalive));
      },
    });
    return Promise.resolve(stream);
  });
}

/** One try of the call, ended as the server ends it; how long its silence lasted, and what it told last. */
async function silence(model: LanguageModelV3, attempt: number, over: { dispatch?: number } = {}) {
  const task = world
    .worker(model, { budgetsMs: BUDGETS })
    .callModel(over, { attempt, heartbeatTimeoutMs: BUDGETS.streaming });
  const { tookMs } = await task.end;
  return { tookMs, told: task.heartbeats.at(-1)?.details };
}

const silent = fallsSilentAfter();
const speaking = fallsSilentAfter(...aText('so far').slice(0, 2));

test('a call whose last try had streamed gets no full prefill again, however many keepalives come', async () => {
  await silence(speaking, 1);
  const { tookMs } = await silence(silent, 2);
  expect(tookMs).toBeGreaterThanOrEqual(T);
  expect(tookMs).toBeLessThan(4 * T);
});

test('nor does the try after one that said nothing: what any try has shown counts', async () => {
  await silence(speaking, 1);
  await silence(silent, 2);
  const { tookMs } = await silence(silent, 1, { dispatch: 2 });
  expect(tookMs).toBeLessThan(4 * T);
});

test('a call whose last try died in prefill keeps the full budget', async () => {
  const short = { ...BUDGETS, prefill: 3_000 };
  const task = (attempt: number) =>
    world.worker(silent, { budgetsMs: short }).callModel({}, { attempt, heartbeatTimeoutMs: short.streaming });
  await task(1).end;
  const { tookMs } = await task(2).end;
  expect(tookMs).toBeGreaterThanOrEqual(short.prefill);
});

test('the promoted budget is twice the first token that was seen, when that is more than the stream gap', async () => {
  const slow = aModel(async () => {
    await delay(900);
    return new ReadableStream<LanguageModelV3StreamPart>({
      async start(controller) {
        await delay(900);
        aText('late').forEach((part) => controller.enqueue(part));
        await delay(10);
        controller.error(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
      },
    });
  });
  await failureOf(world.worker(slow, { budgetsMs: BUDGETS }).callModel());
  const { told } = await silence(silent, 2);
  expect(told).toMatchObject({ phase: 'prefill' });
  expect(told!.budgetMs).toBeGreaterThanOrEqual(2 * 850);
  expect(told!.budgetMs).toBeLessThan(BUDGETS.prefill);
});

test('heartbeats tell whose they are, and what the try has shown', async () => {
  const { told } = await silence(speaking, 1, { dispatch: 3 });
  expect(told).toEqual<Progress>({
    try: { dispatch: 3, attempt: 1 },
    phase: 'streaming',
    charsReceived: 'so far'.length,
    firstTokenMs: expect.any(Number) as number,
    budgetMs: T,
    atMs: expect.any(Number) as number,
  });
});

test('a resume is logged with the phase, the try, the budget and the estimated input', async () => {
  const answering = aModel(() =>
    Promise.resolve(
      new ReadableStream<LanguageModelV3StreamPart>({
        start: (controller) => [...aText('hi'), aFinish()].forEach((part) => controller.enqueue(part)),
      }),
    ),
  );
  await answerOf(world.worker(answering, { budgetsMs: BUDGETS }).callModel());
  expect(world.logged.filter((line) => line.includes('asking the model again'))).toEqual([]);
  const next = { turnId: 't2', callId: 't2.1', head: 't1.1.out', append: [] };
  const worker = world.worker(speaking, { budgetsMs: BUDGETS });
  await worker.callModel(next, { heartbeatTimeoutMs: T }).end;
  await answerOf(world.worker(answering, { budgetsMs: BUDGETS }).callModel(next, { attempt: 2 }));
  const [line] = world.logged.filter((each) => each.includes('asking the model again'));
  expect(line).toContain('"attempt":2');
  expect(line).toContain(
    `"callId":"t2.1","dispatch":1,"earlierTries":1,"earlierPhase":"streaming","hadStreamed":true,"prefillMs":${T},"estimatedInputTokens":10`,
  );
});

describe('a try that was refused', () => {
  test('is no discarded attempt', async () => {
    const busy = aModel(() => Promise.reject(Object.assign(new Error('no route'), { code: 'ECONNREFUSED' })));
    await failureOf(world.worker(busy, { budgetsMs: BUDGETS }).callModel());
    await answerOf(world.worker(aModelThatAnswers(), { budgetsMs: BUDGETS }).callModel({}, { attempt: 2 }));
    expect((await world.journal()).at(-1)).not.toHaveProperty('discardedAttempts');
  });

  test('after it had sent something, is one', async () => {
    await silence(speaking, 1);
    await answerOf(world.worker(aModelThatAnswers(), { budgetsMs: BUDGETS }).callModel({}, { attempt: 2 }));
    expect((await world.journal()).at(-1)).toMatchObject({
      ...{ kind: 'TurnEnded', discardedAttempts: 1, discardedReceivedChars: 6, discardedEstimatedInputTokens: null },
    });
  });
});

function aModelThatAnswers(): LanguageModelV3 {
  return aModel(() =>
    Promise.resolve(
      new ReadableStream<LanguageModelV3StreamPart>({
        start: (controller) => [...aText('whole'), aFinish()].forEach((part) => controller.enqueue(part)),
      }),
    ),
  );
}
