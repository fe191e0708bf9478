import { CancelledFailure } from '@temporalio/common';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { ToolContext, ToolDefinition } from '../../activities/agent.js';
import { LIMITS } from '../../protocol/limits.js';
import type { ToolResult } from '../../store/session-store.js';
import { StoreUnavailableError } from '../../store/session-store.js';
import { aCall, aModelThatSays } from '../support/activity-models.js';
import {
  ActivityWorld,
  answerOf,
  aTool,
  failureOf,
  type RunningTask,
  type TestWorker,
} from '../support/activity-world.js';
import { anOutcome, aRecord, SESSION } from '../support/store-builders.js';
import { until } from '../support/until.js';

let world: ActivityWorld;
beforeEach(async () => {
  world = await ActivityWorld.open();
});
afterEach(() => world.close());

const anyInput = z.looseObject({});

/** A worker whose agent has the tool, with a model that has just called it. */
async function calling(tool: Partial<ToolDefinition>, input = '{}'): Promise<TestWorker> {
  const tools = [aTool({ input: anyInput, ...tool })];
  const worker = world.worker(aModelThatSays(aCall(tools[0]!.name, input)), { tools });
  await answerOf(worker.callModel());
  return worker;
}

/** What the model is told. */
async function toldAfter(task: RunningTask<{ ok: boolean }>): Promise<ToolResult> {
  const { result, failure } = await task.end;
  if (!result) throw new Error(`expected a result, got ${String(failure)}`, { cause: failure });
  const finished = (await world.journal()).filter((output) => output.kind === 'ToolFinished');
  expect(finished).toHaveLength(1);
  expect(finished[0]!.ok).toBe(result.ok);
  return { ok: finished[0]!.ok, output: finished[0]!.result };
}

const told = async (tool: Partial<ToolDefinition>, input?: string) =>
  toldAfter((await calling(tool, input)).callTool());

describe('a tool that answers', () => {
  test.each<[string, unknown, string]>([
    ['a text', 'noon', 'noon'],
    ['an empty text', '', ''],
    ['an object', { at: 'noon' }, '{"at":"noon"}'],
    ['a number', 7, '7'],
    ['null', null, 'null'],
    ['nothing', undefined, 'done'],
    ['what JSON leaves out', () => 1, 'done'],
    ['a BigInt', { big: 10n }, '{"big":"10"}'],
    ['a promise', Promise.resolve('noon'), 'noon'],
  ])('%s is told to the model', async (_what, value, output) => {
    expect(await told({ run: () => value })).toEqual({ ok: true, output });
  });

  test('a value in a circle is said to have run, so that it is not run again', async () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    const result = await told({ run: () => circle });
    expect(result.ok).toBe(false);
    expect(result.output).toMatch(/ran to its end.*circular.*[Dd]o not repeat/s);
  });

  test('a huge text is stored whole', async () => {
    const output = 'x'.repeat(2 * 1024 * 1024);
    expect(await told({ run: () => output })).toEqual({ ok: true, output });
  });

  test('gets its arguments as its input describes them', async () => {
    const seen: unknown[] = [];
    const input = z.object({ n: z.number().default(3), s: z.string().optional() });
    await told({ input, run: (args) => void seen.push(args) }, '{"s":"x","extra":1}');
    expect(seen).toEqual([{ n: 3, s: 'x' }]);
  });

  test('gets no arguments as an empty object', async () => {
    const seen: unknown[] = [];
    await told({ run: (args) => void seen.push(args) }, '');
    expect(seen).toEqual([{}]);
  });

  test('knows what it runs for', async () => {
    const seen: ToolContext[] = [];
    await told({ run: (_, context) => void seen.push(context) });
    expect(seen).toMatchObject([{ sessionId: SESSION, turnId: 't1', toolCallId: 't1.1.t1' }]);
    expect(seen[0]!.signal.aborted).toBe(false);
  });
});

describe('a tool in a turn that a wake or a reminder started', () => {
  const used = async (tool: Partial<ToolDefinition>, isAutomated?: true) =>
    toldAfter((await calling({ run: () => 'noon', ...tool })).callTool(isAutomated ? { isAutomated } : {}));

  test('runs, unless it says otherwise', async () => {
    expect(await used({}, true)).toEqual({ ok: true, output: 'noon' });
  });

  test('is refused at once, with what to do, when it says so', async () => {
    const run = () => Promise.reject(new Error('it ran'));
    const { ok, output } = await used({ onAutomation: 'refuse', run }, true);
    expect(ok).toBe(false);
    expect(output).toMatch(/"clock" is refused in a turn that a wake or a reminder started.*person/);
  });

  test('is not refused in any other turn', async () => {
    expect(await used({ onAutomation: 'refuse' })).toEqual({ ok: true, output: 'noon' });
  });
});

describe('what goes wrong in a tool is told to the model', () => {
  test.each<[string, () => unknown, string]>([
    ['an error', () => Promise.reject(new Error('no wind')), 'The tool failed: no wind'],
    [
      'an error at once',
      () => {
        throw new TypeError('no wind');
      },
      'The tool failed: no wind',
    ],
    [
      'an error without words',
      () => {
        throw new RangeError();
      },
      'The tool failed: RangeError',
    ],
    ['a text', () => Promise.reject('no wind'), 'The tool failed: no wind'],
    ['nothing', () => Promise.reject(undefined), 'The tool failed: undefined'],
    ['an object', () => Promise.reject({ message: 'no wind' }), 'The tool failed: no wind'],
    ['an object without words', () => Promise.reject({ code: 7 }), 'The tool failed: {"code":7}'],
    [
      'an error of many',
      () => {
        throw new AggregateError([new Error('no wind')]);
      },
      'The tool failed: no wind',
    ],
    ['what cannot be shown', () => Promise.reject(Object.create(null)), 'The tool failed: {}'],
  ])('when it throws %s', async (_what, run, output) => {
    expect(await told({ run })).toEqual({ ok: false, output });
  });

  const input = z.object({ a: z.number(), list: z.array(z.string()).optional() });
  test.each([
    ['not JSON', '{"a":', /^The arguments are not JSON: /],
    ['of the wrong type', '{"a":"x"}', /^The arguments do not fit the tool: a: /],
    ['wrong inside', '{"a":1,"list":["x",2]}', /list\.1: /],
    ['no object', '7', /do not fit the tool: arguments: /],
    ['missing', '', /do not fit the tool: a: /],
  ])('when its arguments are %s, and it is not run', async (_what, args, output) => {
    let ran = false;
    const result = await told({ input, run: () => (ran = true) }, args);
    expect(result).toEqual({ ok: false, output: expect.stringMatching(output) as string });
    expect(ran).toBe(false);
  });

  test('when the check of its arguments fails itself', async () => {
    const broken = z.object({
      a: z.number().refine(() => {
        throw new Error('no scale');
      }),
    });
    expect(await told({ input: broken }, '{"a":1}')).toEqual({
      ok: false,
      output: 'The arguments could not be checked: no scale',
    });
  });

  test('when the check of its arguments takes time', async () => {
    const slow = z.object({
      a: z.number().refine(async (a) => {
        await delay(5);
        return a > 1;
      }, 'too small'),
    });
    expect(await told({ input: slow }, '{"a":1}')).toEqual({
      ok: false,
      output: 'The arguments do not fit the tool: a: too small',
    });
  });

  test('when there is no such tool', async () => {
    const worker = world.worker(aModelThatSays(aCall('made up', '{}')));
    await answerOf(worker.callModel());
    expect(await toldAfter(worker.callTool({ name: 'made up' }))).toEqual({
      ok: false,
      output: 'There is no tool "made up".',
    });
  });
});

describe('a tool that ran before', () => {
  test('is not run again when its result is known', async () => {
    let runs = 0;
    const worker = await calling({ run: () => `run ${++runs}` });
    await worker.callTool().end;
    expect(await toldAfter(worker.callTool({}, { attempt: 2 }))).toEqual({ ok: true, output: 'run 1' });
    expect(runs).toBe(1);
  });

  /** Leaves a run that began and never ended, as a lost worker does. */
  async function lose(worker: TestWorker, runs: () => number): Promise<RunningTask<unknown>> {
    const lost = worker.callTool();
    await until('the tool to run', () => runs() === 1);
    return lost;
  }

  test('and whose worker was lost has an unknown outcome, and is not run again', async () => {
    let runs = 0;
    const worker = await calling({ run: () => (runs++, new Promise(() => undefined)) });
    const lost = await lose(worker, () => runs);
    const result = await toldAfter(worker.callTool());
    expect(result.ok).toBe(false);
    expect(result.output).toMatch(/outcome of this call is unknown.*Do not repeat/);
    expect(runs).toBe(1);
    lost.cancel();
    await lost.end;
  });

  test('and may be repeated is run again', async () => {
    let runs = 0;
    const run = () => (++runs === 1 ? new Promise(() => undefined) : 'second');
    const worker = await calling({ idempotent: true, run });
    const lost = await lose(worker, () => runs);
    expect(await toldAfter(worker.callTool({}, { attempt: 2 }))).toEqual({ ok: true, output: 'second' });
    lost.cancel();
    await lost.end;
  });

  test('is not run for a turn that has ended', async () => {
    let runs = 0;
    const worker = await calling({ run: () => runs++ });
    await world.store.record(aRecord({ outcomes: [anOutcome('t1')] }));
    expect(await failureOf(worker.callTool())).toMatchObject({ type: 'StaleTry', retryable: false });
    expect(runs).toBe(0);
  });
});

describe('progress', () => {
  test('is a beat, with its note', async () => {
    const worker = await calling({
      run: (_, { progress }) => {
        progress();
        progress('half way');
      },
    });
    const task = worker.callTool();
    await task.end;
    expect(task.heartbeats.map((beat) => beat.details)).toEqual([{ note: null }, { note: 'half way' }]);
  });

  test('with anything for a note does no harm', async () => {
    const notes = [10n, { toString: () => 'shown' }, 'x'.repeat(10_000)] as unknown as string[];
    const worker = await calling({ run: (_, { progress }) => notes.forEach((note) => progress(note)) });
    const task = worker.callTool();
    expect((await task.end).result).toEqual({ ok: true });
    const [big, shown, long] = task.heartbeats.map((beat) => (beat.details as unknown as { note: string }).note);
    expect([big, shown, long!.length]).toEqual(['10', 'shown', LIMITS.reasonChars]);
  });

  test('after the end is nothing', async () => {
    let late: (() => void) | undefined;
    const worker = await calling({ run: (_, { progress }) => void (late = () => progress('late')) });
    const task = worker.callTool();
    await task.end;
    late!();
    expect(task.heartbeats).toEqual([]);
  });

  test('keeps a long tool alive', async () => {
    const worker = await calling({
      run: async (_, { progress }) => {
        for (let step = 0; step < 6; step++) {
          await delay(100);
          progress();
        }
        return 'there';
      },
    });
    expect(await toldAfter(worker.callTool({}, { heartbeatTimeoutMs: 300 }))).toEqual({ ok: true, output: 'there' });
  });
});

describe('a tool that is no longer wanted', () => {
  test('is told by its signal, and leaves no result', async () => {
    let reason: unknown;
    const worker = await calling({
      run: (_, { signal }) => delay(60_000, undefined, { signal }).finally(() => (reason = signal.reason)),
    });
    const task = worker.callTool();
    await until('the tool to run', async () => (await world.journal()).some((output) => output.kind === 'ToolStarted'));
    task.cancel();
    expect((await task.end).failure).toBeInstanceOf(CancelledFailure);
    expect(reason).toBeInstanceOf(CancelledFailure);
    expect((await world.journal()).some((output) => output.kind === 'ToolFinished')).toBe(false);
  });

  test('and does not heed its signal is left behind', async () => {
    const worker = await calling({ run: () => new Promise(() => undefined) });
    const task = worker.callTool();
    await until('the tool to run', async () => (await world.journal()).some((output) => output.kind === 'ToolStarted'));
    task.cancel();
    expect((await task.end).failure).toBeInstanceOf(CancelledFailure);
  });

  test('because its worker shuts down is no failure of its own', async () => {
    const worker = await calling({ run: (_, { signal }) => delay(60_000, undefined, { signal }) });
    const task = worker.callTool();
    await until('the tool to run', async () => (await world.journal()).some((output) => output.kind === 'ToolStarted'));
    task.cancel('WORKER_SHUTDOWN');
    expect(await failureOf(task)).toMatchObject({ type: 'WorkerDraining', retryable: false });
  });

  test('before it began is not begun', async () => {
    let runs = 0;
    const worker = await calling({ run: () => runs++ });
    const task = worker.callTool();
    task.cancel();
    expect((await task.end).failure).toBeInstanceOf(CancelledFailure);
    expect(runs).toBe(0);
  });

  test('but had its result a moment before has it recorded', async () => {
    let finish: (() => void) | undefined;
    const worker = await calling({ run: () => new Promise<string>((resolve) => (finish = () => resolve('sent'))) });
    const task = worker.callTool();
    await until('the tool to run', () => finish);
    finish!();
    task.cancel();
    expect(await toldAfter(task)).toEqual({ ok: true, output: 'sent' });
  });
});

describe('trouble of our own fails the activity, and is told to no model', () => {
  test('when the agent is not here', async () => {
    const worker = await calling({});
    expect(await failureOf(worker.callTool({ agent: 'other' }))).toMatchObject({
      type: 'AgentUnavailable',
      retryable: false,
    });
  });

  test('when the call is not in the transcript', async () => {
    const worker = await calling({});
    expect(await failureOf(worker.callTool({ toolCallId: 't1.1.t9' }))).toMatchObject({ type: 'Defect' });
  });

  test.each(['beginTool', 'finishTool', 'findEntry'] as const)(
    'when the store does not answer to %s',
    async (method) => {
      await calling({});
      const unavailable = () => Promise.reject(new StoreUnavailableError('the disk is full'));
      const store = world.storeWith({ [method]: unavailable });
      const worker = world.worker(aModelThatSays(), { tools: [aTool({ input: anyInput })] }, store);
      expect(await failureOf(worker.callTool())).toMatchObject({
        type: 'StoreUnavailable',
        message: 'the disk is full',
      });
    },
  );
});
