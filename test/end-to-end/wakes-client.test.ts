/** Wakes, reminders and closing as people and programs use them: by the typed client and the `vigil` command. */
import { SessionClient } from '../../client/sessions.js';
import type { ReminderState, SentReminder } from '../../client/sent-reminder.js';
import type { ScheduleWakeInput, WakeView } from '../../protocol/wakes.js';
import { until } from '../support/until.js';
import { Vigil } from '../support/vigil.js';

const vigil = Vigil.inFile();

const EVERY: ScheduleWakeInput = { schedule: { kind: 'interval', everyMs: 5_000 }, prompt: 'ping' };
const DAILY = { kind: 'cron', expression: '0 9 * * *' } as const;

async function scheduled(session: string, input: ScheduleWakeInput): Promise<WakeView> {
  const answer = await vigil.client.scheduleWake(session, input);
  if (answer.kind !== 'scheduled') throw new Error(JSON.stringify(answer));
  return answer.wake;
}

const fired = async (session: string) =>
  (await vigil.outputs(session)).filter(({ kind }) => kind === 'WakeFired').length;

async function statesOf(reminder: SentReminder): Promise<ReminderState['kind'][]> {
  const kinds: ReminderState['kind'][] = [];
  for await (const { kind } of reminder.observe({ signal: AbortSignal.timeout(30_000) })) kinds.push(kind);
  return kinds;
}

const turnsOf = async (session: string, key: string) =>
  (await vigil.outputs(session)).filter((output) => output.kind === 'TurnEnded' && output.source.key === key).length;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('the command line adds, lists, changes and cancels a wake of a session that it begins', async () => {
  const session = vigil.session();
  const when = ['--cron', '0 9 * * *', '--zone', 'Asia/Kathmandu', '--expires', '400d'];
  const added = await vigil.run(['wakes', 'add', session, ...when, '--prompt', 'ping', '--key', 'daily', '--json']);
  const { wake } = JSON.parse(added.stdout) as { wake: WakeView };
  expect(wake).toMatchObject({ key: 'daily', zone: 'Asia/Kathmandu', state: 'active', createdBy: 'person' });
  expect(wake.fires).toHaveLength(3);
  const edited = await vigil.run(['wakes', 'edit', session, 'daily', '--cron', '30 8 * * 1']);
  expect(edited.stdout).toContain('cron 30 8 * * 1, Asia/Kathmandu');
  const [listed, json, shown] = await Promise.all([
    vigil.run(['wakes', session]),
    vigil.run(['wakes', session, '--json']),
    vigil.run(['show', session]),
  ]);
  expect(listed.stdout).toContain(`wake ${wake.id}, key daily`);
  expect(JSON.parse(json.stdout)).toMatchObject({ id: wake.id, schedule: 'cron 30 8 * * 1' });
  expect(shown.stdout).toContain('daily (cron 30 8 * * 1; next ');
  const [unknown, cancelled] = [
    await vigil.run(['wakes', 'cancel', session, 'weekly']),
    await vigil.run(['wakes', 'cancel', session, 'daily']),
  ];
  expect([unknown.end, unknown.stderr]).toEqual([2, expect.stringContaining(`there are: ${wake.id}`)]);
  expect([cancelled.end, cancelled.stdout]).toEqual([0, `cancelled wake ${wake.id}\n`]);
  expect((await vigil.run(['wakes', session])).stderr).toContain('has no wakes');
}, 60_000);

test.each([
  ['without a time', ['--prompt', 'x'], '--in, --at, --every or --cron'],
  ['with two times', ['--prompt', 'x', '--in', '1s', '--every', '1m'], 'give one of'],
  ['with a time that is none', ['--prompt', 'x', '--in', 'soon'], 'like 10s, 5m'],
  ['without a prompt', ['--in', '1s'], '--prompt'],
  ['too often', ['--prompt', 'x', '--every', '1s'], 'at least 5000 ms'],
])('vigil wakes add refuses a wake %s', async (_, flags, message) => {
  const child = await vigil.run(['wakes', 'add', vigil.session('refusing'), ...flags]);
  expect(child.stderr).toContain(message);
  expect(child.end).toBe(2);
});

test('a cancel on a later turn, and one while an occurrence waits, end it', async () => {
  const session = vigil.session();
  const { id } = await scheduled(session, { ...EVERY, key: 'tick' });
  await vigil.output(session, 'TurnEnded', ({ source }) => source.kind === 'wake');
  const busy = await vigil.client.send(session, { text: 'wait for 20 seconds' });
  await vigil.output(session, 'WakeDeferred');
  await expect(vigil.client.cancelWake(session, { wake: 'tick' })).resolves.toMatchObject({
    ...{ kind: 'cancelled', wakeId: id, future: true, waiting: true, running: null },
  });
  await vigil.client.stop(session);
  await busy.outcome();
  const before = await fired(session);
  await pause(5_500);
  expect(await fired(session)).toBe(before);
  const gone = await vigil.client.cancelWake(session, { wake: 'tick' });
  expect(gone).toEqual({ kind: 'not_found', existing: [] });
}, 60_000);

test('a cancel that no worker answers is kept, and applied before what is due by then', async () => {
  const session = vigil.session();
  const soon = { ...EVERY, schedule: { kind: 'once', inMs: 4_000 } } as const;
  const [one, two] = [await scheduled(session, soon), await scheduled(session, soon)];
  await vigil.worker.kill();
  const kept = [one, two].map(({ id }) => vigil.client.cancelWake(session, { wake: id }));
  const notDone = vigil.client.scheduleWake(session, EVERY).catch((error: unknown) => error);
  await expect(Promise.all(kept)).resolves.toEqual([{ kind: 'kept' }, { kind: 'kept' }]);
  const said = expect.stringContaining('not done');
  await expect(notDone).resolves.toMatchObject({ code: 'not_read', message: said });
  await vigil.startWorker();
  await vigil.ask(session, 'ping');
  await pause(1_500);
  const outputs = await vigil.outputs(session);
  expect(outputs.filter(({ kind }) => kind === 'WakeFired')).toEqual([]);
  expect(outputs.filter(({ kind }) => kind === 'WakeCancelled')).toHaveLength(2);
  // The request that was not done may still have reached the session: as with every wake, a cancel is certain.
  for (const { id } of await vigil.client.wakes(session)) await vigil.client.cancelWake(session, { wake: id });
}, 60_000);

test('closing removes every wake, says so, and a later message is refused without starting anything', async () => {
  const session = vigil.session();
  await expect(vigil.client.closeSession(session)).rejects.toMatchObject({ code: 'unknown_session' });
  const { id } = await scheduled(session, { schedule: DAILY, prompt: 'ping' });
  await vigil.ask(session, 'ping');
  const running = await vigil.client.send(session, { text: 'wait for 30 seconds' });
  await vigil.output(session, 'ToolStarted');
  const waits = await vigil.client.remind(session, { reminderId: 'r', dueMs: 1, prompt: 'ping' });
  await expect(waits.placed()).resolves.toEqual({ kind: 'deferred', position: 1, waitingFor: 'turns' });
  const closed = await vigil.run(['close', session]);
  expect(closed.stdout).toContain(`wakes removed: ${id}`);
  expect(closed.stdout).toContain('refused, for they waited: reminder r, due 1970');
  await expect(running.outcome()).resolves.toMatchObject({ outcome: 'aborted' });
  await expect(waits.outcome()).rejects.toMatchObject({ code: 'session_closed' });
  const refusals = [
    vigil.client.send(session, { text: 'ping' }),
    vigil.client.remind(session, { reminderId: 'r', dueMs: 2, prompt: 'ping' }),
    vigil.client.scheduleWake(session, EVERY),
    vigil.client.editWake(session, { wake: id, prompt: 'pong' }),
  ];
  for (const refusal of refusals) await expect(refusal).rejects.toMatchObject({ code: 'session_closed' });
  await expect(vigil.client.cancelWake(session, { wake: id })).resolves.toEqual({ kind: 'not_found', existing: [] });
  await expect(vigil.client.wakes(session)).resolves.toEqual([]);
  await until('the workflow to end', async () => !(await vigil.client.isRunning(session)));
  await expect(vigil.client.closeSession(session)).resolves.toMatchObject({ kind: 'already_closed', wakes: [] });
  const chat = await vigil.run(['chat', session, '--message', 'ping']);
  expect([chat.end, chat.stderr]).toEqual([17, expect.stringContaining('was closed')]);
}, 60_000);

test('a session whose workflow was ended from outside closes for good', async () => {
  const session = vigil.session();
  await vigil.ask(session, 'ping');
  await vigil.handle(session).terminate('gone');
  await expect(vigil.client.closeSession(session)).resolves.toMatchObject({ kind: 'closed' });
  await expect(vigil.client.send(session, { text: 'ping' })).rejects.toMatchObject({ code: 'session_closed' });
}, 30_000);

describe('a reminder', () => {
  test('goes through its states, and its redelivery learns the end without a second turn', async () => {
    const session = vigil.session();
    const reminder = { reminderId: 'stretch', dueMs: Date.now(), prompt: 'ping' };
    const busy = await vigil.client.send(session, { text: 'wait for 2 seconds' });
    await vigil.output(session, 'ToolStarted');
    const sent = await vigil.client.remind(session, reminder);
    await expect(statesOf(sent)).resolves.toEqual(['accepted', 'deferred', 'running', 'delivered']);
    await expect(statesOf(await vigil.client.remind(session, reminder))).resolves.toEqual(['accepted', 'delivered']);
    await busy.outcome();
    expect(await turnsOf(session, sent.key)).toBe(1);
    await expect(vigil.client.findReminder(session, reminder)).resolves.toMatchObject({ fate: 'answered' });
    expect(vigil.client.waitingReaders).toBe(0);
  }, 30_000);

  test('is refused in seconds by a busy session when it is not to wait, and nothing stays of it', async () => {
    const session = vigil.session();
    const busy = await vigil.client.send(session, { text: 'wait for 20 seconds' });
    await vigil.output(session, 'ToolStarted');
    const flags = ['--id', 'r1', '--due', '2026-01-31T09:00:00Z', '--on-busy', 'refuse'];
    const [child, startedMs] = [vigil.command(['remind', session, 'ping', ...flags]), Date.now()];
    expect(await child.hasEnded(20_000)).toBe(18);
    expect(Date.now() - startedMs).toBeLessThan(15_000);
    expect(child.stderr).toContain('other work');
    expect((await vigil.client.state(session)).queue).toEqual([]);
    await vigil.client.stop(session);
    await busy.outcome();
    const again = await vigil.run(['remind', session, 'ping', ...flags, '--wait', '--json']);
    const states = again.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string });
    expect([again.end, states.map(({ kind }) => kind)]).toEqual([0, ['accepted', 'running', 'delivered']]);
  }, 60_000);

  test('that nobody takes up is not observed; its key stays, and a redelivery makes no second turn', async () => {
    const session = vigil.session();
    await vigil.ask(session, 'ping');
    await vigil.worker.kill();
    const reminder = { reminderId: 'unseen', dueMs: 1_000, prompt: 'ping' };
    const impatient = await SessionClient.connect({ ...vigil, store: vigil.store, observeMs: 1_000 });
    const sent = await impatient.remind(session, reminder);
    await expect(sent.outcome()).rejects.toMatchObject({ code: 'delivery_not_observed' });
    expect(impatient.waitingReaders).toBe(0);
    await impatient.close();
    await expect(vigil.client.findReminder(session, reminder)).resolves.toBeNull();
    const again = await vigil.client.remind(session, reminder);
    await vigil.startWorker();
    await expect(again.outcome()).resolves.toMatchObject({ kind: 'delivered' });
    expect(await turnsOf(session, sent.key)).toBe(1);
    await expect(vigil.client.findReminder(session, reminder)).resolves.toMatchObject({ fate: 'answered' });
  }, 60_000);

  test.each([
    ['an empty id', { reminderId: '' }, 'reminder id'],
    ['a due time that is none', { dueMs: 1.5 }, 'whole milliseconds'],
    ['an empty prompt', { prompt: ' ' }, 'empty'],
    ['too long an origin', { origin: 'o'.repeat(101) }, 'origin'],
  ])('with %s is refused', async (_, over, message) => {
    const reminder = { reminderId: 'r', dueMs: 1, prompt: 'ping', ...over };
    await expect(vigil.client.remind(vigil.session(), reminder)).rejects.toMatchObject({
      ...{ code: 'invalid_input', message: expect.stringContaining(message) },
    });
  });
});
