/** Channels on the real server: a receiver of webhooks that is late, broken or dead never holds up a session. */
import { randomUUID } from 'node:crypto';
import { UPDATE } from '../../protocol/names.js';
import type { ScheduleWakeInput, WakeAnswer } from '../../protocol/wakes.js';
import { openStore } from '../../store/open-store.js';
import type { SessionStore, StoredDelivery } from '../../store/session-store.js';
import { until } from '../support/until.js';
import { Vigil } from '../support/vigil.js';
import { SECRET, WebhookReceiver } from '../support/webhook-receiver.js';

const receiver = new WebhookReceiver();
const vigil = Vigil.inFileWithoutWorker();
// Channels of other files are other task queues on the shared server.
const own = randomUUID().slice(0, 8);
const nameOf = (path: string): string => `${path.slice(1)}-${own}`;
const PATHS = ['/late', '/plain', '/shaky', '/dead', '/killed'];

function environment(serves: boolean): NodeJS.ProcessEnv {
  const quick = { timeoutMs: 1_000, retryMs: 200, giveUpAfterMs: 60_000 };
  const declared = PATHS.map((path) => [
    nameOf(path),
    {
      ...{ kind: 'webhook', url: `${receiver.address}${path}`, secretVariable: 'TEST_SECRET', ...quick },
      ...(path === '/dead' ? { giveUpAfterMs: 1_000 } : {}),
    },
  ]);
  return {
    VIGIL_CHANNELS: JSON.stringify(Object.fromEntries(declared)),
    VIGIL_SERVE_CHANNELS: serves ? 'on' : 'off',
    TEST_SECRET: SECRET,
  };
}

let store: SessionStore;
beforeAll(async () => {
  store = await openStore(vigil.store);
  await receiver.start();
  await vigil.startWorker(environment(false));
}, 60_000);
afterAll(async () => {
  await store.close();
  await receiver.stop();
});

async function send(session: string, path: string, text = 'ping') {
  return vigil.client.send(session, { text, channel: nameOf(path) });
}

async function schedule(session: string, channel: string): Promise<WakeAnswer> {
  const args: [ScheduleWakeInput] = [{ prompt: 'ping', schedule: { kind: 'once', inMs: 500 }, channel }];
  return vigil.handle(session).executeUpdate<WakeAnswer, [ScheduleWakeInput]>(UPDATE.scheduleWake, { args });
}

async function deliveriesOf(...flags: string[]): Promise<StoredDelivery[]> {
  const { stdout } = await vigil.run(['deliveries', ...flags, '--json']);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as StoredDelivery);
}

const noticesOf = async (session: string) =>
  (await vigil.outputs(session)).flatMap((output) => (output.kind === 'Notice' ? [output.code] : []));

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('a channel whose worker starts 5 s after the fire gets the outcome, and nothing counts as failed', async () => {
  const session = vigil.session();
  await vigil.ask(session, 'ping');
  await expect(schedule(session, nameOf('/late'))).resolves.toMatchObject({ kind: 'scheduled' });
  const ended = await vigil.output(session, 'TurnEnded', ({ source }) => source.kind === 'wake');
  await pause(5_000);
  expect(receiver.received).toEqual([]);
  await vigil.ask(session, 'ping');
  expect((await vigil.client.state(session)).deliveries).toBe(1);
  await vigil.startWorker(environment(true));
  const [received] = await receiver.has('/late', 1);
  expect(received!.body).toMatchObject({
    type: 'turn.ended',
    data: { sessionId: session, turnId: ended.turnId, outcome: 'completed', text: ended.text, isCut: false },
  });
  expect(await noticesOf(session)).toEqual([]);
}, 60_000);

test('an outcome is delivered once, signed', async () => {
  const session = vigil.session();
  const outcome = await (await send(session, '/plain')).outcome();
  const [received] = await receiver.has('/plain', 1);
  expect(received!.id).toMatch(/^msg_[0-9a-f]{24}$/);
  expect(received!.body).toMatchObject({ data: { turnId: outcome.turnId, text: outcome.text } });
  await pause(1_500);
  expect(receiver.on('/plain')).toHaveLength(1);
  expect(receiver.refused).toEqual([]);
});

test('a receiver that fails twice gets the same delivery until it takes it, while the session goes on', async () => {
  receiver.answer('/shaky', 500, 302, 204);
  const session = vigil.session();
  await (await send(session, '/shaky')).outcome();
  await expect(vigil.ask(session, 'ping')).resolves.toMatchObject({ outcome: 'completed' });
  const received = await receiver.has('/shaky', 3);
  expect(new Set(received.map(({ id }) => id)).size).toBe(1);
  expect(receiver.on('/elsewhere')).toEqual([]);
  await until('the delivery to be known as made', async () => {
    return (await store.findDelivery(received[0]!.id))?.state === 'delivered';
  });
});

test('a dead receiver leaves a dead letter, which is told, listed, retried and dropped', async () => {
  receiver.answer('/dead', 500);
  const session = vigil.session();
  await (await send(session, '/dead')).outcome();
  await vigil.output(session, 'Notice', ({ code }) => code === 'delivery_failed');
  const channel = ['--channel', nameOf('/dead')];
  const [dead] = await deliveriesOf(...channel);
  expect(dead).toMatchObject({ state: 'dead', sessionId: session, problem: 'the receiver answered 500' });
  receiver.answer('/dead', 204);
  const before = receiver.on('/dead').length;
  await vigil.run(['deliveries', 'retry', dead!.id]);
  const received = await receiver.has('/dead', before + 1);
  expect(received.at(-1)!.id).toBe(dead!.id);
  await until('the delivery to be made', async () => (await store.findDelivery(dead!.id))?.state === 'delivered');

  // 410 says that it will never be taken.
  receiver.answer('/dead', 410);
  await (await send(session, '/dead')).outcome();
  const deadOnes = () => store.listDeliveries({ limit: 2, channel: nameOf('/dead'), states: ['dead'] });
  const [gone] = await until('a dead letter', async () => ((await deadOnes()).length === 1 ? deadOnes() : null));
  expect(gone).toMatchObject({ state: 'dead', attempts: 1 });
  const { stdout } = await vigil.run(['deliveries', 'drop', gone!.id]);
  expect(stdout).toBe(`${gone!.id}: dropped\n`);
  expect(await deadOnes()).toEqual([]);
}, 60_000);

test('a channel that no configuration declares is refused, and the session goes on', async () => {
  const session = vigil.session();
  const sent = await vigil.client.send(session, { id: 'm1', text: 'ping', channel: 'nowhere' });
  await expect(sent.outcome()).rejects.toMatchObject({
    code: 'refused',
    message: expect.stringContaining('channel "nowhere" is not declared') as string,
  });
  await expect(vigil.ask(session, 'ping')).resolves.toMatchObject({ outcome: 'completed' });
  await expect(schedule(session, 'nowhere')).resolves.toMatchObject({
    kind: 'refused',
    problems: [expect.stringContaining('channel "nowhere" is not declared')],
  });
});

test('a delivery whose worker is killed is made by the next one, under the same id', async () => {
  receiver.answer('/killed', 'never', 204);
  const session = vigil.session();
  await (await send(session, '/killed')).outcome();
  await receiver.has('/killed', 1);
  await vigil.worker.kill();
  await vigil.startWorker(environment(true));
  const [first, second] = await receiver.has('/killed', 2, 30_000);
  expect(second!.id).toBe(first!.id);
  await expect(vigil.ask(session, 'ping')).resolves.toMatchObject({ outcome: 'completed' });
}, 60_000);
