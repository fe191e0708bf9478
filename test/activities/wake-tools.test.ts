import { ServiceError, WorkflowUpdateRPCTimeoutOrCancelledError } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import type { ToolResult } from '../../store/session-store.js';
import type { WakeView } from '../../protocol/wakes.js';
import { aCall, aModelThatSays } from '../support/activity-models.js';
import { ActivityWorld, AGENT, answerOf, type RunningTask, type TestWorker } from '../support/activity-world.js';
import { AnsweringSession, aView } from '../support/answering-session.js';
import { SESSION } from '../support/store-builders.js';

let world: ActivityWorld;
beforeEach(async () => {
  world = await ActivityWorld.open();
});
afterEach(() => world.close());

const FIRES = ['Mon 09:00', 'Tue 09:00', 'Wed 09:00'].map((text, n) => ({ dueMs: n, text }));

function aWake(over: Partial<WakeView> = {}): WakeView {
  return {
    ...{ id: 'c-w1', key: null, kind: 'cron', schedule: 'cron 0 9 * * *', prompt: 'look', zone: 'UTC', fires: FIRES },
    ...{ state: 'active', reason: null, target: { kind: 'this' }, missed: 'fire_once', maxLatenessMs: null },
    ...{ jitterMs: 0, skipWhenActiveMs: null, channel: null, expiresAtMs: null, createdBy: 'tester', createdAtMs: 0 },
    ...{ counts: { fired: 0, skipped: 0, failures: 0 }, pending: null },
    ...over,
  };
}

const scheduled = (over: Partial<WakeView> = {}, replaced = false) => ({
  kind: 'scheduled',
  wake: aWake(over),
  replaced,
});
const cancelled = (over: object = {}) => ({
  ...{ kind: 'cancelled', wakeId: 'c-w1', future: true, waiting: false, running: null, stopped: false },
  ...over,
});

/** A worker whose model has just called the tool. */
async function calling(name: string, input: object): Promise<TestWorker> {
  const worker = world.worker(aModelThatSays(aCall(name, JSON.stringify(input))));
  await answerOf(worker.callModel());
  return worker;
}

async function told(task: RunningTask<{ ok: boolean }>): Promise<ToolResult> {
  const { failure } = await task.end;
  if (failure) throw failure;
  const finished = (await world.journal()).find((output) => output.kind === 'ToolFinished')!;
  return { ok: finished.ok, output: finished.result };
}

async function says(name: string, input: object, session: AnsweringSession): Promise<ToolResult> {
  return told((await calling(name, input)).callTool({ name }, { client: session.client }));
}

async function askedFor(input: object): Promise<unknown> {
  const session = new AnsweringSession(scheduled());
  await says('schedule_wake', { prompt: 'look', ...input }, session);
  return session.asked[0]?.input;
}

describe('schedule_wake', () => {
  test.each<[string, object, object]>([
    ['in some seconds', { in_seconds: 1.5 }, { kind: 'once', inMs: 1_500 }],
    ['at an instant', { at: '2026-01-31T09:00:00+01:00' }, { kind: 'once', atMs: Date.UTC(2026, 0, 31, 8) }],
    ['every so many seconds', { every_seconds: 60 }, { kind: 'interval', everyMs: 60_000 }],
    ['by a cron expression', { cron: '0 9 * * *' }, { kind: 'cron', expression: '0 9 * * *' }],
  ])('asks for a wake %s, as the agent', async (_, input, schedule) => {
    expect(await askedFor(input)).toEqual({ prompt: 'look', schedule, by: { rank: 'agent', name: AGENT } });
  });

  test('takes a local time in the zone that is given', async () => {
    const input = await askedFor({ at: '2026-07-31T09:00', zone: 'Europe/Paris' });
    const schedule = { kind: 'once', atMs: Date.UTC(2026, 6, 31, 7) };
    expect(input).toMatchObject({ schedule, zone: 'Europe/Paris' });
  });

  test('hands on the other terms', async () => {
    const terms = { every_seconds: 60, key: 'k', expires_at: '2026-02-01T00:00Z', skip_missed: true };
    const expiresAtMs = Date.UTC(2026, 1, 1);
    expect(await askedFor(terms)).toMatchObject({ key: 'k', expiresAtMs, missed: 'skip' });
  });

  test('tells the id, the next three times, and that the zone is the default', async () => {
    const { ok, output } = await says('schedule_wake', { prompt: 'x', cron: 'c' }, new AnsweringSession(scheduled()));
    expect(ok).toBe(true);
    for (const part of ['"c-w1"', ...FIRES.map(({ text }) => text), 'UTC, the default', 'cancel_wake']) {
      expect(output).toContain(part);
    }
  });

  test('does not call a zone the default that was given, and tells of a replaced wake', async () => {
    const session = new AnsweringSession(scheduled({ zone: 'Europe/Paris' }, true));
    const { output } = await says('schedule_wake', { prompt: 'x', cron: 'c', zone: 'Europe/Paris' }, session);
    expect(output).toContain('Replaced wake "c-w1"');
    expect(output).toContain('The time zone is Europe/Paris.');
  });

  test.each<[string, object, RegExp]>([
    ['no time', {}, /exactly one of/],
    ['two times', { in_seconds: 1, cron: 'c' }, /exactly one of/],
    ['a time without an offset or a zone', { at: '2026-01-31T09:00' }, /"at" has no offset/],
    ['what is no time', { at: 'tomorrow' }, /"at" must be an instant like/],
    ['no date', { at: '2026-13-31T09:00Z' }, /"at" must be an instant like/],
    ['a local time in no zone', { at: '2026-01-31T09:00', zone: 'Mars/Base' }, /"Mars\/Base", which is no time zone/],
    ['an end that is no time', { every_seconds: 60, expires_at: 'never' }, /"expires_at" must be/],
  ])('refuses %s without asking the session', async (_, input, problem) => {
    const session = new AnsweringSession();
    const { ok, output } = await says('schedule_wake', { prompt: 'look', ...input }, session);
    expect(ok).toBe(false);
    expect(output).toMatch(/^Nothing was scheduled\. /);
    expect(output).toMatch(problem);
  });

  test('hands on why the session refuses', async () => {
    const session = new AnsweringSession({ kind: 'refused', problems: ['too many', 'too soon'] });
    const result = await says('schedule_wake', { prompt: 'x', in_seconds: 1 }, session);
    expect(result).toEqual({ ok: false, output: 'Nothing was scheduled. too many; too soon.' });
  });
});

describe('cancel_wake', () => {
  test.each<[string, object, RegExp]>([
    ['that it is never due again', {}, /^Cancelled wake "c-w1": it is never due again\.$/],
    ['of what waited', { waiting: true }, /waited was withdrawn/],
    ['of the turn that runs', { running: 'c-2' }, /turn that runs now goes on/],
  ])('tells %s', async (_, over, text) => {
    const session = new AnsweringSession(cancelled(over));
    const { ok, output } = await says('cancel_wake', { wake: 'tick' }, session);
    expect(output).toMatch(text);
    expect(ok).toBe(true);
    const input = { wake: 'tick', by: { rank: 'agent', name: AGENT } };
    expect(session.asked).toMatchObject([{ update: 'cancelWake', input }]);
  });

  test.each([
    [['a', 'b'], 'Nothing was cancelled. There is no wake "x". These exist: "a", "b".'],
    [[], 'Nothing was cancelled. There is no wake "x". There are no wakes.'],
  ])('tells of an unknown wake which exist: %j', async (existing, output) => {
    const session = new AnsweringSession({ kind: 'not_found', existing });
    expect(await says('cancel_wake', { wake: 'x' }, session)).toEqual({ ok: false, output });
  });
});

describe('list_wakes', () => {
  const lists = async (view: unknown) => (await says('list_wakes', {}, new AnsweringSession(view))).output;

  test('says that there are none', async () => {
    expect(await lists(aView())).toBe('There are no wakes.');
  });

  test('tells of each what to know it by', async () => {
    const second = aWake({ id: 'c-w2', key: 'tick', reason: 'it failed', fires: [], pending: 'wake:c-w2:1' });
    const [first, other] = (await lists(aView({ wakes: [aWake(), second] }))).split('\n');
    expect(first).toMatch(/^wake "c-w1": cron.*Mon 09:00; Tue 09:00; Wed 09:00.*UTC.*set by tester.*it says: look$/);
    expect(other).toMatch(/^wake "c-w2" with the key "tick".*disabled: it failed.*waits or runs now/);
  });

  test('tells of wakes that are over and whose last turn is to come, or runs', async () => {
    const turn = { source: { kind: 'wake', key: 'c-w3:5' } };
    const queue = [
      { id: 'm1', kind: 'message' as const },
      { id: 'wake:c-w4:6', kind: 'wake' as const },
      { id: 'wake:c-w1:7', kind: 'wake' as const },
    ];
    const lines = (await lists(aView({ wakes: [aWake()], queue, turn }))).split('\n');
    expect(lines.map((line) => /^wake "(\S+)"/.exec(line)?.[1])).toEqual(['c-w1', 'c-w3', 'c-w4']);
  });
});

describe('a session that does not answer', () => {
  const silent = () => new WorkflowUpdateRPCTimeoutOrCancelledError('late');
  const wake = { prompt: 'look', in_seconds: 5 };

  test('is asked again under the same id, so that nothing is done twice', async () => {
    const session = new AnsweringSession(silent(), new ServiceError('away'), scheduled());
    expect(await says('schedule_wake', wake, session)).toMatchObject({ ok: true });
    const one = { sessionId: SESSION, update: 'scheduleWake', updateId: 't1.1.t1' };
    expect(session.asked).toMatchObject([one, one, one]);
  });

  test('is given up with what is not known', async () => {
    const session = new AnsweringSession(silent(), silent(), silent());
    const { ok, output } = await says('schedule_wake', wake, session);
    expect(ok).toBe(false);
    expect(output).toMatch(/not known whether this was done.*list_wakes/);
  });

  test('because there is none is not asked again', async () => {
    const session = new AnsweringSession(new WorkflowNotFoundError('gone', SESSION, undefined));
    expect(await says('schedule_wake', wake, session)).toEqual({ ok: false, output: 'The tool failed: gone' });
  });

  test('is not waited for when the turn no longer wants the tool', async () => {
    const session = new AnsweringSession(silent(), silent(), scheduled());
    const task = (await calling('schedule_wake', wake)).callTool({ name: 'schedule_wake' }, { client: session.client });
    while (session.asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    task.cancel();
    expect((await task.end).failure).toBeDefined();
    expect(session.asked).toHaveLength(1);
  });
});
