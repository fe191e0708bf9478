/** Wakes, reminders and closing on the real server, by the updates and signals that clients are built on. */
import type { Disposition } from '../../protocol/fates.js';
import { SIGNAL, UPDATE } from '../../protocol/names.js';
import type {
  CancelWakeAnswer,
  CancelWakeInput,
  CloseAnswer,
  ScheduleWakeInput,
  WakeAnswer,
} from '../../protocol/wakes.js';
import { openStore } from '../../store/open-store.js';
import { until } from '../support/until.js';
import { Vigil } from '../support/vigil.js';

const vigil = Vigil.inFile();

async function schedule(session: string, input: Partial<ScheduleWakeInput>): Promise<WakeAnswer> {
  const args: [ScheduleWakeInput] = [{ prompt: 'ping', schedule: { kind: 'once', inMs: 2_000 }, ...input }];
  return vigil.handle(session).executeUpdate<WakeAnswer, [ScheduleWakeInput]>(UPDATE.scheduleWake, { args });
}

async function scheduled(session: string, input: Partial<ScheduleWakeInput>) {
  const answer = await schedule(session, input);
  if (answer.kind !== 'scheduled') throw new Error(JSON.stringify(answer));
  return answer.wake;
}

const cancel = (session: string, wake: string): Promise<CancelWakeAnswer> =>
  vigil.handle(session).executeUpdate<CancelWakeAnswer, [CancelWakeInput]>(UPDATE.cancelWake, { args: [{ wake }] });

const firesOf = async (session: string, wakeId: string) =>
  (await vigil.outputs(session)).filter((output) => output.kind === 'WakeFired' && output.wakeId === wakeId);

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('a wake that is due while a turn runs waits, says so, and has a turn of its own', async () => {
  const session = vigil.session();
  const busy = await vigil.client.send(session, { text: 'wait for 5 seconds' });
  await vigil.output(session, 'ToolStarted');
  const { id, fires } = await scheduled(session, { zone: 'Asia/Kathmandu' });
  expect(fires[0]!.text).toContain('+05:45 Asia/Kathmandu');
  await expect(vigil.output(session, 'WakeDeferred')).resolves.toMatchObject({ wakeId: id, position: 1 });
  const key = `${id}:${fires[0]!.dueMs}`;
  const ended = await vigil.output(session, 'TurnEnded', ({ source }) => source.kind === 'wake');
  expect(ended).toMatchObject({ outcome: 'completed', source: { kind: 'wake', key } });
  await expect(busy.outcome()).resolves.toMatchObject({ outcome: 'completed', source: { kind: 'message' } });
  const { wakes, queue } = await vigil.client.state(session);
  expect({ wakes, queue }).toEqual({ wakes: [], queue: [] });
});

test('an interval fires again and again, over the end of its worker, until it is cancelled from a later turn', async () => {
  const session = vigil.session();
  await vigil.ask(session, 'ping');
  const { id } = await scheduled(session, { schedule: { kind: 'interval', everyMs: 5_000 }, key: 'tick' });
  await vigil.output(session, 'WakeFired');
  // The first turn may run still: it is ended on the server, as a supervisor would, or it stalls for a minute.
  await vigil.worker.kill();
  await vigil.reap();
  await vigil.startWorker();
  await until('a second fire', async () => (await firesOf(session, id)).length >= 2, 40_000);
  await vigil.ask(session, 'ping');
  await expect(cancel(session, 'tick')).resolves.toMatchObject({ kind: 'cancelled', wakeId: id, future: true });
  const before = (await firesOf(session, id)).length;
  await pause(7_000);
  expect((await firesOf(session, id)).length).toBe(before);
  await expect(cancel(session, 'tick')).resolves.toEqual({ kind: 'not_found', existing: [] });
  const keys = (await firesOf(session, id)).map((fire) => fire.kind === 'WakeFired' && fire.dueMs);
  expect(new Set(keys).size).toBe(keys.length);
}, 90_000);

test('a wake that was due several times while no worker ran fires once, late', async () => {
  const session = vigil.session();
  await vigil.ask(session, 'ping');
  const { id } = await scheduled(session, { schedule: { kind: 'interval', everyMs: 5_000 } });
  await vigil.worker.kill();
  await pause(12_000);
  await vigil.startWorker();
  const fired = await vigil.output(session, 'WakeFired');
  expect(fired.lateMs).toBeGreaterThan(5_000);
  await until('what was missed to be counted', async () => {
    const { wakes } = await vigil.client.state(session);
    return wakes[0]!.counts.skipped >= 1;
  });
  await cancel(session, id);
}, 90_000);

test('a wake with another target starts a session of its own', async () => {
  const session = vigil.session();
  await vigil.ask(session, 'ping');
  await scheduled(session, { target: { kind: 'new', name: 'report-{due}' } });
  const fired = await vigil.output(session, 'WakeFired');
  expect(fired.sessionId).toMatch(new RegExp(`^${vigil.tenant}/report-\\d{8}T\\d{6}Z$`));
  await expect(vigil.output(fired.sessionId!, 'TurnEnded')).resolves.toMatchObject({ outcome: 'completed' });
});

test.each([
  ['a schedule that cannot be read', { schedule: { kind: 'cron', expression: 'sometimes' } as const }, /five fields/],
  ['an unknown zone', { zone: 'Mars/Base' }, /Mars\/Base/],
  ['too short an interval', { schedule: { kind: 'interval', everyMs: 10 } as const }, /at least 5000 ms/],
])('%s is refused with what to do', async (_, input, problem) => {
  const session = vigil.session('refusing');
  await vigil.ask(session, 'ping');
  await expect(schedule(session, input)).resolves.toMatchObject({
    kind: 'refused',
    problems: [expect.stringMatching(problem)],
  });
});

test('a wake may be years ahead, and one that is due sooner comes first', async () => {
  const session = vigil.session();
  await vigil.ask(session, 'ping');
  const inNineYears = 9 * 365 * 24 * 3_600_000;
  const { id } = await scheduled(session, { schedule: { kind: 'once', inMs: inNineYears } });
  const sooner = await scheduled(session, {});
  await expect(vigil.output(session, 'WakeFired')).resolves.toMatchObject({ wakeId: sooner.id });
  await vigil.output(session, 'TurnEnded', ({ source }) => source.kind === 'wake');
  expect((await vigil.client.state(session)).wakes).toMatchObject([{ id, counts: { fired: 0 } }]);
  await expect(cancel(session, id)).resolves.toMatchObject({ kind: 'cancelled', future: true });
});

test('a reminder has a turn of its own, once, however often it is delivered', async () => {
  const session = vigil.session();
  const reminder = { reminderId: 'stretch', dueMs: Date.now(), prompt: 'ping' };
  await vigil.signalRaw(session, SIGNAL.reminder, reminder);
  const ended = await vigil.output(session, 'TurnEnded');
  expect(ended.source).toEqual({ kind: 'reminder', key: `stretch:${reminder.dueMs}` });
  await vigil.signalRaw(session, SIGNAL.reminder, reminder);
  const repeat = await vigil.output(session, 'ReminderReceived', ({ disposition }) => disposition.kind === 'duplicate');
  expect(repeat.disposition).toMatchObject<Partial<Disposition>>({ fate: 'answered', turnId: ended.turnId });
  const busy = await vigil.client.send(session, { text: 'wait for 3 seconds' });
  await vigil.output(session, 'ToolStarted');
  await vigil.signalRaw(session, SIGNAL.reminder, { ...reminder, dueMs: 1, onBusy: 'refuse' });
  const refused = await vigil.output(session, 'ReminderReceived', ({ dueMs }) => dueMs === 1);
  expect(refused.disposition).toMatchObject({ kind: 'refused', reason: 'session_busy' });
  expect((await vigil.client.state(session)).queue).toEqual([]);
  await busy.outcome();
});

test('a closed session ends its turn and its wakes, and nothing opens it again', async () => {
  const session = vigil.session();
  const running = await vigil.client.send(session, { text: 'wait for 60 seconds' });
  await vigil.output(session, 'ToolStarted');
  const { id } = await scheduled(session, { schedule: { kind: 'interval', everyMs: 5_000 } });
  const waiting = await vigil.client.send(session, { id: 'late', text: 'ping', mode: 'queue' });
  const answer = await vigil.handle(session).executeUpdate<CloseAnswer, []>(UPDATE.close);
  expect(answer).toMatchObject({ kind: 'closed', wakes: [id], items: ['late'] });
  await expect(running.outcome()).resolves.toMatchObject({ outcome: 'aborted' });
  await expect(waiting.placed()).resolves.toMatchObject({ kind: 'queued' });
  await expect(vigil.output(session, 'SessionClosed')).resolves.toMatchObject({ wakes: [id], items: ['late'] });
  await expect(vigil.handle(session).result()).resolves.toBeUndefined();
  await vigil.signalRaw(session, SIGNAL.message, { id: 'again', text: 'ping' });
  const refused = await vigil.output(session, 'MessageReceived', ({ messageId }) => messageId === 'again');
  expect(refused.disposition).toMatchObject({ kind: 'refused', reason: 'session_closed' });
  await expect(vigil.output(session, 'Notice', ({ code }) => code === 'session_closed')).resolves.toBeDefined();
  await expect(vigil.handle(session).result()).resolves.toBeUndefined();
  const store = await openStore(vigil.store);
  await expect(store.findSession(session)).resolves.toMatchObject({ status: 'closed' });
  await store.close();
});
