/**
 * That wakes are sure, on real servers: whatever runs, dies, rolls over or is away meanwhile. Waiting is most of it, so the sessions of
 * one test wait side by side, and what must not happen for a while is looked at last.
 */
import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { packageRoot } from '../../config/package-root.js';
import { SIGNAL, UPDATE } from '../../protocol/names.js';
import type { Output } from '../../protocol/outputs.js';
import type {
  CancelWakeAnswer,
  CancelWakeInput,
  CloseAnswer,
  ScheduleWakeInput,
  WakeAnswer,
  WakeView,
} from '../../protocol/wakes.js';
import { findTemporal } from '../../worker/dev-server/find-temporal.js';
import { freePort } from '../../worker/dev-server/ports.js';
import { ensureSearchAttributes } from '../../worker/dev-server/search-attributes.js';
import { startDevServer, type DevServer } from '../../worker/dev-server/start-server.js';
import { searchMachine } from '../../worker/dev-server/temporal-sources.js';
import { until } from '../support/until.js';
import { Vigil } from '../support/vigil.js';

const AGENT = { agent: 'wakes' };
const AGENTS = { VIGIL_AGENTS: join(packageRoot(), 'test/support/wakes-agent.ts') };
const INTERVAL_MS = 5_000;
const QUIET_MS = 5 * INTERVAL_MS + 2_000;
/** The server suggests to continue as new after so many events: every few turns. */
const ROLL_OVER_EVENTS = 60;

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'vigil-wakes-')));
const port = await freePort();
let server: DevServer;

beforeAll(startServer, 60_000);
const vigil = Vigil.inFile(() => AGENTS, `127.0.0.1:${port}`);
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

async function startServer(): Promise<void> {
  const report = () => undefined;
  const { path } = await findTemporal(searchMachine({ env: process.env, report }), report);
  const temporalPath = join(folder, 'temporal-that-rolls-over');
  const setting = `limit.historyCount.suggestContinueAsNew=${ROLL_OVER_EVENTS}`;
  writeFileSync(temporalPath, `#!/bin/sh\nexec ${path} "$@" --dynamic-config-value ${setting}\n`);
  chmodSync(temporalPath, 0o755);
  const files = { dbPath: join(folder, 'temporal.db'), logPath: join(folder, 'temporal.log') };
  server = await startDevServer({ temporalPath, port, uiPort: null, ...files, report });
  const connection = await Connection.connect({ address: server.address });
  await ensureSearchAttributes(connection, server.namespace);
  await connection.close();
}

async function scheduled(session: string, input: Partial<ScheduleWakeInput>): Promise<WakeView> {
  const args: [ScheduleWakeInput] = [
    { prompt: 'look', schedule: { kind: 'interval', everyMs: INTERVAL_MS }, ...input },
  ];
  const answer = await vigil
    .handle(session)
    .executeUpdate<WakeAnswer, [ScheduleWakeInput]>(UPDATE.scheduleWake, { args });
  if (answer.kind !== 'scheduled') throw new Error(JSON.stringify(answer));
  return answer.wake;
}

const cancel = (session: string, wake: string): Promise<CancelWakeAnswer> =>
  vigil.handle(session).executeUpdate<CancelWakeAnswer, [CancelWakeInput]>(UPDATE.cancelWake, { args: [{ wake }] });

/** A session that knows its agent, with nothing running. */
async function aSession(name: string): Promise<string> {
  const session = vigil.session(name);
  await vigil.ask(session, 'begin', AGENT);
  return session;
}

const only = <Kind extends Output['kind']>(outputs: Output[], kind: Kind) =>
  outputs.filter((output): output is Extract<Output, { kind: Kind }> => output.kind === kind);

const firedIn = async (session: string) =>
  only(await vigil.outputs(session), 'WakeFired').map(({ wakeId, dueMs }) => `${wakeId}:${dueMs}`);

/** One turn after the other until the session has continued as new. */
async function rollOver(session: string): Promise<void> {
  const { runId } = await vigil.handle(session).describe();
  await until(`${session} to roll over`, async () => {
    await vigil.ask(session, 'go on');
    return (await vigil.handle(session).describe()).runId !== runId;
  });
}

/** Of sessions whose wake was cancelled: what had fired until then, and since when nothing may. */
const ended: { session: string; sinceMs: number; fired: string[] }[] = [];

async function noteEnd(session: string): Promise<void> {
  ended.push({ session, sinceMs: Date.now(), fired: await firedIn(session) });
}

test('a wake fires on a turn that is resumed elsewhere and after its session rolled over, and is cancelled from a later turn or by closing', async () => {
  const [cancelled, closed] = await Promise.all([aSession('cancelled'), aSession('closed')]);
  const sessions = [cancelled, closed];
  const wakes = await Promise.all(sessions.map((each) => scheduled(each, { prompt: 'look slowly', key: 'tick' })));
  await Promise.all(sessions.map((each) => vigil.output(each, 'TextDelta', ({ text }) => text.startsWith('.'))));
  await vigil.worker.kill();
  await vigil.reap();
  await vigil.startWorker(AGENTS);
  const resumed = await Promise.all(
    sessions.map((each) => vigil.output(each, 'TurnEnded', ({ source }) => source.kind === 'wake')),
  );
  expect(resumed.map(({ outcome }) => outcome)).toEqual(['completed', 'completed']);
  await Promise.all(sessions.map(rollOver));
  const before = (await firedIn(closed)).length;
  await until('a fire after the roll-over', async () => (await firedIn(closed)).length > before);

  const turn = await vigil.client.send(cancelled, { text: 'work for 8 steps', mode: 'queue' });
  await vigil.output(cancelled, 'ToolStarted');
  await expect(vigil.client.state(cancelled)).resolves.toMatchObject({
    wakes: [{ id: wakes[0]!.id, key: 'tick' }],
    turn: { source: { kind: 'message' } },
  });
  await expect(cancel(cancelled, 'tick')).resolves.toMatchObject({ kind: 'cancelled', future: true });
  await noteEnd(cancelled);
  await expect(vigil.client.state(cancelled)).resolves.toMatchObject({ wakes: [] });
  await expect(turn.outcome()).resolves.toMatchObject({ outcome: 'completed' });

  const answer = await vigil.handle(closed).executeUpdate<CloseAnswer, []>(UPDATE.close);
  expect(answer).toMatchObject({ kind: 'closed', wakes: [wakes[1]!.id] });
  await noteEnd(closed);
  for (const session of sessions) {
    const fired = await firedIn(session);
    expect(new Set(fired).size).toBe(fired.length);
  }
}, 90_000);

test('a cancel that arrives in the very task in which the wake is due wins', async () => {
  const sessions = await Promise.all(['same-1', 'same-2', 'same-3'].map(aSession));
  const wakes = await Promise.all(
    sessions.map((each) => scheduled(each, { schedule: { kind: 'interval', everyMs: 7_000 } })),
  );
  await vigil.worker.end();
  // With nobody there the timer and the cancel wait for the same task.
  await delay(Math.max(...wakes.map(({ fires }) => fires[0]!.dueMs)) + 500 - Date.now());
  const answers = sessions.map((each, n) => cancel(each, wakes[n]!.id));
  await delay(500);
  await vigil.startWorker(AGENTS);
  for (const answer of await Promise.all(answers)) {
    expect(answer).toMatchObject({ kind: 'cancelled', future: true, waiting: false, running: null });
  }
  await Promise.all(sessions.map(noteEnd));
  expect(ended.slice(-sessions.length).map(({ fired }) => fired)).toEqual([[], [], []]);
}, 90_000);

test('a cancel that races with the due time leaves at most the one occurrence that it tells of', async () => {
  const sessions = await Promise.all(Array.from({ length: 6 }, (_, n) => aSession(`race-${n}`)));
  const races = sessions.map(async (session, n) => {
    const wake = await scheduled(session, {});
    await delay(wake.fires[0]!.dueMs - Date.now() - 20 + n * 15);
    const answer = await cancel(session, wake.id);
    if (answer.kind !== 'cancelled') throw new Error(JSON.stringify(answer));
    await vigil.ask(session, 'after the race');
    await noteEnd(session);
    const { fired } = ended.find((each) => each.session === session)!;
    expect(fired.length).toBeLessThanOrEqual(1);
    if (answer.running !== null) expect(fired).toHaveLength(1);
  });
  await Promise.all(races);
});

test('reminders and wakes that meet a busy session have a turn each, in their order, exactly once', async () => {
  const session = await aSession('busy');
  const busy = await vigil.client.send(session, { text: 'work for 40 steps' });
  await vigil.output(session, 'ToolStarted');
  const reminders = Array.from({ length: 13 }, (_, n) => ({
    reminderId: `r${n}`,
    dueMs: 1_000 + n,
    prompt: 'stretch',
  }));
  const [wakes] = await Promise.all([
    Promise.all(Array.from({ length: 12 }, () => scheduled(session, { schedule: { kind: 'once', inMs: 1_000 } }))),
    ...reminders.map((reminder) => vigil.handle(session).signal(SIGNAL.reminder, reminder)),
  ]);
  const keys = [
    ...reminders.map(({ reminderId, dueMs }) => `${reminderId}:${dueMs}`),
    ...wakes.map(({ id, fires }) => `${id}:${fires[0]!.dueMs}`),
  ];
  await expect(busy.outcome()).resolves.toMatchObject({ outcome: 'completed' });
  const outputs = await until(
    'every turn to end',
    async () => {
      const all = await vigil.outputs(session);
      return only(all, 'TurnEnded').length >= 2 + keys.length && all;
    },
    60_000,
  );
  const waited = outputs.flatMap((output) => {
    if (output.kind === 'WakeDeferred') return [`${output.wakeId}:${output.dueMs}`];
    const isWaiting = output.kind === 'ReminderReceived' && output.disposition.kind === 'queued';
    return isWaiting ? [`${output.reminderId}:${output.dueMs}`] : [];
  });
  expect(waited.toSorted()).toEqual(keys.toSorted());
  // None waited for anything but the busy turn and what was there before it.
  expect(
    only(outputs, 'TurnStarted')
      .slice(2)
      .map(({ source }) => source.key),
  ).toEqual(waited);
  const ends = only(outputs, 'TurnEnded');
  expect(ends.slice(2).map(({ source }) => source.key)).toEqual(waited);
  expect(new Set(ends.map(({ outcome }) => outcome))).toEqual(new Set(['completed']));
  // The busy turn took in nothing but its own message.
  expect(ends[1]!.text).toBe('told: work for 40 steps');
  expect(only(outputs, 'ToolStarted')).toHaveLength(40);
  await expect(vigil.client.state(session)).resolves.toMatchObject({ queue: [], turn: null, wakes: [] });
}, 90_000);

test('a wake that was due several times while server and worker were down fires once or, when told so, not at all', async () => {
  const [once, never] = await Promise.all([aSession('once'), aSession('never')]);
  const late = await scheduled(once, {});
  const skipped = await scheduled(never, { missed: 'skip', maxLatenessMs: 1_000 });
  const [due, skippedDue] = [late.fires[0]!, skipped.fires[0]!];
  await vigil.worker.kill();
  await server.stop();
  const backMs = due.dueMs + 2 * INTERVAL_MS;
  await delay(backMs - Date.now());
  await startServer();
  await vigil.startWorker(AGENTS);
  const run = await vigil.output(once, 'TurnEnded', ({ source }) => source.kind === 'wake');
  expect(run).toMatchObject({ outcome: 'completed', source: { key: `${late.id}:${due.dueMs}` } });
  expect(run.text).toContain(due.text);
  const left = await vigil.output(never, 'WakeSkipped');
  expect(left).toMatchObject({ dueMs: skippedDue.dueMs, reason: 'too_late' });
  const next = await vigil.output(never, 'WakeFired');
  expect(next.dueMs).toBeGreaterThan(skippedDue.dueMs + INTERVAL_MS);
  expect((next.dueMs - skippedDue.dueMs) % INTERVAL_MS).toBe(0);
  const fired = only(await vigil.outputs(once), 'WakeFired');
  expect(fired[0]).toMatchObject({ dueMs: due.dueMs });
  expect(fired.filter(({ dueMs }) => dueMs <= backMs)).toHaveLength(1);
}, 90_000);

test('no wake that was cancelled, or whose session was closed, has fired for five intervals', async () => {
  expect(ended).toHaveLength(2 + 3 + 6);
  await delay(Math.max(...ended.map(({ sinceMs }) => sinceMs)) + QUIET_MS - Date.now());
  for (const { session, fired } of ended)
    expect({ session, fired: await firedIn(session) }).toEqual({ session, fired });
});
