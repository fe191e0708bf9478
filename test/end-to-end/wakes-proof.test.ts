/**
 * That wakes are sure, on real servers: whatever runs, dies, rolls over or is away meanwhile. Waiting is most of it, so the sessions of
 * one test wait side by side, and what must not happen for a while is looked at last.
 */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { SessionClient } from '../../client/sessions.js';
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
import { TestWorker, Vigil } from '../support/vigil.js';

const AGENT = { agent: 'wakes' };
const AGENTS = { VIGIL_AGENTS: join(packageRoot(), 'test/support/wakes-agent.ts') };
const INTERVAL_MS = 5_000;
const QUIET_MS = 5 * INTERVAL_MS + 2_000;

const vigil = Vigil.inFile(() => AGENTS);

type Place = { temporal: Client; session: string };

async function scheduled({ temporal, session }: Place, input: Partial<ScheduleWakeInput>): Promise<WakeView> {
  const args: [ScheduleWakeInput] = [
    { prompt: 'look', schedule: { kind: 'interval', everyMs: INTERVAL_MS }, ...input },
  ];
  const handle = temporal.workflow.getHandle(session);
  const answer = await handle.executeUpdate<WakeAnswer, [ScheduleWakeInput]>(UPDATE.scheduleWake, { args });
  if (answer.kind !== 'scheduled') throw new Error(JSON.stringify(answer));
  return answer.wake;
}

const cancel = (session: string, wake: string): Promise<CancelWakeAnswer> =>
  vigil.handle(session).executeUpdate<CancelWakeAnswer, [CancelWakeInput]>(UPDATE.cancelWake, { args: [{ wake }] });

/** A session that knows its agent, with nothing running. */
async function aSession(name: string): Promise<Place> {
  const session = vigil.session(name);
  await vigil.ask(session, 'begin', AGENT);
  return { temporal: vigil.temporal, session };
}

const only = <Kind extends Output['kind']>(outputs: Output[], kind: Kind) =>
  outputs.filter((output): output is Extract<Output, { kind: Kind }> => output.kind === kind);

const firedIn = async (session: string) =>
  only(await vigil.outputs(session), 'WakeFired').map(({ wakeId, dueMs }) => `${wakeId}:${dueMs}`);

/** Rolls a session over: repeats of one message fill its history. */
async function rollOver(session: string): Promise<void> {
  const before = await vigil.handle(session).describe();
  await until(
    `${session} to roll over`,
    async () => {
      const repeats = Array.from({ length: 300 }, () =>
        vigil.handle(session).signal(SIGNAL.message, { id: 'repeat', text: 'again' }),
      );
      await Promise.all(repeats);
      return (await vigil.handle(session).describe()).runId !== before.runId;
    },
    40_000,
  );
}

/** Of sessions whose wake was cancelled: what had fired until then, and since when nothing may. */
const ended: { session: string; sinceMs: number; fired: string[] }[] = [];

async function noteEnd(session: string): Promise<void> {
  ended.push({ session, sinceMs: Date.now(), fired: await firedIn(session) });
}

test('a wake fires on a turn that is resumed elsewhere and after its session rolled over, and is cancelled from a later turn or by closing', async () => {
  const [cancelled, closed] = await Promise.all([aSession('cancelled'), aSession('closed')]);
  const wakes = await Promise.all(
    [cancelled, closed].map((place) => scheduled(place, { prompt: 'look slowly', key: 'tick' })),
  );
  const sessions = [cancelled.session, closed.session];
  await Promise.all(
    sessions.map((session) => vigil.output(session, 'TextDelta', ({ text }) => text.startsWith('.'))),
  );
  await vigil.worker.kill();
  await vigil.reap();
  await vigil.startWorker(AGENTS);
  const ofWake = ({ source }: { source: { kind: string } }) => source.kind === 'wake';
  const resumed = await Promise.all(sessions.map((session) => vigil.output(session, 'TurnEnded', ofWake)));
  expect(resumed.map(({ outcome }) => outcome)).toEqual(['completed', 'completed']);
  await Promise.all(sessions.map(rollOver));
  const before = (await firedIn(closed.session)).length;
  await until('a fire after the roll-over', async () => (await firedIn(closed.session)).length > before);

  const turn = await vigil.client.send(cancelled.session, { text: 'work for 5 steps', mode: 'queue' });
  await vigil.output(cancelled.session, 'ToolStarted');
  await expect(vigil.client.state(cancelled.session)).resolves.toMatchObject({
    wakes: [{ id: wakes[0]!.id, key: 'tick' }],
    turn: { source: { kind: 'message' } },
  });
  await expect(cancel(cancelled.session, 'tick')).resolves.toMatchObject({ kind: 'cancelled', future: true });
  await noteEnd(cancelled.session);
  await expect(vigil.client.state(cancelled.session)).resolves.toMatchObject({ wakes: [] });
  await expect(turn.outcome()).resolves.toMatchObject({ outcome: 'completed' });

  const answer = await vigil.handle(closed.session).executeUpdate<CloseAnswer, []>(UPDATE.close);
  expect(answer).toMatchObject({ kind: 'closed', wakes: [wakes[1]!.id] });
  await noteEnd(closed.session);
  for (const session of sessions) {
    const fired = await firedIn(session);
    expect(new Set(fired).size).toBe(fired.length);
  }
}, 90_000);

test('a cancel that arrives in the very task in which the wake is due wins', async () => {
  const places = await Promise.all(['same-1', 'same-2', 'same-3'].map(aSession));
  const wakes = await Promise.all(
    places.map((place) => scheduled(place, { schedule: { kind: 'interval', everyMs: 6_000 } })),
  );
  await vigil.worker.end();
  // With nobody there the timer and the cancel wait for the same task.
  await delay(Math.max(...wakes.map(({ fires }) => fires[0]!.dueMs)) + 500 - Date.now());
  const answers = places.map(({ session }, n) => cancel(session, wakes[n]!.id));
  await delay(500);
  await vigil.startWorker(AGENTS);
  for (const answer of await Promise.all(answers)) {
    expect(answer).toMatchObject({ kind: 'cancelled', future: true, waiting: false, running: null });
  }
  for (const { session } of places) {
    await noteEnd(session);
    expect(ended.at(-1)!.fired).toEqual([]);
  }
});

test('a cancel that races with the due time leaves at most the one occurrence that it tells of', async () => {
  const places = await Promise.all(Array.from({ length: 8 }, (_, n) => aSession(`race-${n}`)));
  const races = places.map(async (place, n) => {
    const wake = await scheduled(place, {});
    await delay(wake.fires[0]!.dueMs - Date.now() - 20 + n * 10);
    const answer = await cancel(place.session, wake.id);
    if (answer.kind !== 'cancelled') throw new Error(JSON.stringify(answer));
    await vigil.ask(place.session, 'after the race');
    const fired = await firedIn(place.session);
    expect(fired.length).toBeLessThanOrEqual(1);
    if (answer.running !== null) expect(fired).toHaveLength(1);
    ended.push({ session: place.session, sinceMs: Date.now(), fired });
  });
  await Promise.all(races);
});

test('reminders and wakes that meet a busy session have a turn each, in their order, exactly once', async () => {
  const place = await aSession('busy');
  const { session } = place;
  const busy = await vigil.client.send(session, { text: 'work for 40 steps' });
  await vigil.output(session, 'ToolStarted');
  const reminders = Array.from({ length: 13 }, (_, n) => ({ reminderId: `r${n}`, dueMs: 1_000 + n, prompt: 'stretch' }));
  const [wakes] = await Promise.all([
    Promise.all(Array.from({ length: 12 }, () => scheduled(place, { schedule: { kind: 'once', inMs: 1_000 } }))),
    ...reminders.map((reminder) => vigil.handle(session).signal(SIGNAL.reminder, reminder)),
  ]);
  const keys = [
    ...reminders.map(({ reminderId, dueMs }) => `${reminderId}:${dueMs}`),
    ...wakes.map(({ id, fires }) => `${id}:${fires[0]!.dueMs}`),
  ];
  await expect(busy.outcome()).resolves.toMatchObject({ outcome: 'completed' });
  const outputs = await until('every turn to end', async () => {
    const all = await vigil.outputs(session);
    return only(all, 'TurnEnded').length === 2 + keys.length && all;
  });
  const waited = outputs.flatMap((output) => {
    if (output.kind === 'WakeDeferred') return [`${output.wakeId}:${output.dueMs}`];
    const isWaiting = output.kind === 'ReminderReceived' && output.disposition.kind === 'queued';
    return isWaiting ? [`${output.reminderId}:${output.dueMs}`] : [];
  });
  expect(waited.toSorted()).toEqual(keys.toSorted());
  const turns = only(outputs, 'TurnStarted').slice(2);
  expect(turns.map(({ source }) => source.key)).toEqual(waited);
  const ends = only(outputs, 'TurnEnded');
  expect(new Set(ends.map(({ outcome }) => outcome))).toEqual(new Set(['completed']));
  expect(ends.map(({ source }) => source.key).slice(2)).toEqual(waited);
  // The busy turn took in nothing but its own message.
  expect(ends[1]!.text).toBe('told: work for 40 steps');
  expect(only(outputs, 'ToolStarted')).toHaveLength(40);
  await expect(vigil.client.state(session)).resolves.toMatchObject({ queue: [], turn: null, wakes: [] });
});

test('a wake that was due several times while server and worker were down fires once or, when told so, not at all', async () => {
  const scene = await OwnServer.start();
  try {
    const [once, never] = await Promise.all([scene.session('once'), scene.session('never')]);
    const late = await scheduled(once, {});
    const skipped = await scheduled(never, { missed: 'skip', maxLatenessMs: 1_000 });
    const [due, skippedDue] = [late.fires[0]!, skipped.fires[0]!];
    await scene.down();
    await delay(due.dueMs + 2 * INTERVAL_MS - Date.now());
    await scene.up();
    const ended = await scene.output('once', 'TurnEnded', ({ source }) => source.kind === 'wake');
    expect(ended).toMatchObject({ outcome: 'completed', source: { key: `${late.id}:${due.dueMs}` } });
    expect(ended.text).toContain(due.text);
    const fired = await scene.output('once', 'WakeFired', () => true);
    expect(fired).toMatchObject({ dueMs: due.dueMs });
    expect(fired.lateMs).toBeGreaterThan(2 * INTERVAL_MS - 1_000);
    const left = await scene.output('never', 'WakeSkipped', () => true);
    expect(left).toMatchObject({ dueMs: skippedDue.dueMs, reason: 'too_late' });
    const next = await scene.output('never', 'WakeFired', () => true);
    expect(next.dueMs).toBeGreaterThan(skippedDue.dueMs + INTERVAL_MS);
    expect((next.dueMs - skippedDue.dueMs) % INTERVAL_MS).toBe(0);
    expect((await scene.fires('once')).filter(({ dueMs }) => dueMs < due.dueMs + 2 * INTERVAL_MS)).toHaveLength(1);
  } finally {
    await scene.stop();
  }
}, 90_000);

test('no wake that was cancelled, or whose session was closed, has fired for five intervals', async () => {
  expect(ended).toHaveLength(2 + 3 + 8);
  await delay(Math.max(...ended.map(({ sinceMs }) => sinceMs)) + QUIET_MS - Date.now());
  for (const { session, fired } of ended) expect({ session, fired: await firedIn(session) }).toEqual({ session, fired });
});

/** A server on a file, which can be gone for a while, with a worker and a client of its own. */
class OwnServer {
  private readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'vigil-outage-')));
  private readonly store = join(this.folder, 'store.db');
  private server!: DevServer;
  private worker!: TestWorker;
  private client!: SessionClient;
  private temporal!: Client;

  private constructor(private readonly port: number) {}

  static async start(): Promise<OwnServer> {
    const scene = new OwnServer(await freePort());
    await scene.up();
    return scene;
  }

  async up(): Promise<void> {
    const report = () => undefined;
    const { path: temporalPath } = await findTemporal(searchMachine({ env: process.env, report }), report);
    const files = { dbPath: join(this.folder, 'temporal.db'), logPath: join(this.folder, 'temporal.log') };
    this.server = await startDevServer({ temporalPath, port: this.port, uiPort: null, ...files, report });
    const { address } = this.server;
    const connection = await Connection.connect({ address });
    await ensureSearchAttributes(connection, this.server.namespace);
    this.temporal = new Client({ connection });
    this.worker = new TestWorker('worker/main.js', {
      ...{ VIGIL_ADDRESS: address, VIGIL_STORE: this.store, VIGIL_LOG_LEVEL: 'error', ...AGENTS },
    });
    await this.worker.isReady();
    this.client = await SessionClient.connect({ address, store: this.store });
  }

  async down(): Promise<void> {
    await this.worker.kill();
    await this.client.close();
    await this.temporal.connection.close();
    await this.server.stop();
  }

  async stop(): Promise<void> {
    await this.down();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async session(name: string): Promise<Place> {
    await (await this.client.send(name, { text: 'begin' }, AGENT)).outcome();
    return { temporal: this.temporal, session: `default/${name}` };
  }

  async output<Kind extends Output['kind']>(
    name: string,
    kind: Kind,
    holds: (output: Extract<Output, { kind: Kind }>) => boolean,
  ): Promise<Extract<Output, { kind: Kind }>> {
    return until(`${kind} of ${name}`, async () => only(await this.outputs(name), kind).find(holds), 60_000);
  }

  async fires(name: string) {
    return only(await this.outputs(name), 'WakeFired');
  }

  private async outputs(name: string): Promise<Output[]> {
    const last = await this.client.lastSeq(name);
    const all: Output[] = [];
    if (last === 0) return all;
    for await (const batch of this.client.outputs(name, { afterSeq: 0 })) {
      all.push(...batch);
      if (all.at(-1)!.seq >= last) break;
    }
    return all;
  }
}
