/** The agent's own tools for wakes on the real server: the demo's words, and a model that makes any call. */
import { join } from 'node:path';
import { packageRoot } from '../../config/package-root.js';
import { UPDATE } from '../../protocol/names.js';
import type { CancelWakeAnswer, CancelWakeInput } from '../../protocol/wakes.js';
import { until } from '../support/until.js';
import { Vigil } from '../support/vigil.js';

const ENVIRONMENT = { VIGIL_AGENTS: join(packageRoot(), 'test', 'support', 'wake-agent.ts') };
const vigil = Vigil.inFile(() => ENVIRONMENT);

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const textOf = async (session: string, text: string) => (await vigil.ask(session, text)).text;

/** What the model is told by a tool that it calls. */
async function toolSays(session: string, name: string, input: object): Promise<string> {
  return (await vigil.ask(session, JSON.stringify({ name, input }), { agent: 'waker' })).text;
}

const firesOf = async (session: string) =>
  (await vigil.outputs(session)).filter((output) => output.kind === 'WakeFired');

const turnOfWake = (session: string) => vigil.output(session, 'TurnEnded', ({ source }) => source.kind === 'wake');

test('the demo reminds in two seconds, and its turn says why it runs', async () => {
  const session = vigil.session();
  const told = await textOf(session, 'remind me in 2 seconds to stretch');
  const [, id] = /Scheduled wake "(\S+)": once at .*The time zone is UTC, the default/.exec(told) ?? [];
  await expect(turnOfWake(session)).resolves.toMatchObject({ outcome: 'completed', text: 'Reminder: stretch' });
  const started = await vigil.output(session, 'TurnStarted', ({ source }) => source.kind === 'wake');
  expect(started.why).toContain(`wake ${id}`);
});

test('a recurring wake is listed on a later turn, cancelled there, and never fires again', async () => {
  const session = vigil.session();
  const [, id] = /wake "(\S+)"/.exec(await textOf(session, 'every 5 seconds say hi')) ?? [];
  await expect(turnOfWake(session)).resolves.toMatchObject({ text: 'hi' });
  expect(await textOf(session, 'list my wakes')).toMatch(new RegExp(`wake "${id}": every 5 s.*it says: say hi`));
  expect(await textOf(session, 'cancel it')).toContain(`Cancelled wake "${id}"`);
  expect(await textOf(session, 'list my wakes')).toContain('There are no wakes.');
  const before = (await firesOf(session)).length;
  await pause(11_000);
  expect(await firesOf(session)).toHaveLength(before);
}, 60_000);

test('a wake is cancelled on its own turn, which goes on to its end', async () => {
  const session = vigil.session();
  await textOf(session, 'every 5 seconds cancel it');
  const ended = await turnOfWake(session);
  expect(ended.outcome).toBe('completed');
  expect(ended.text).toMatch(/Cancelled wake .* Its turn that runs now goes on to its end\./);
  expect((await vigil.client.state(session)).wakes).toEqual([]);
});

test('what a person cancelled, the model cannot schedule again', async () => {
  const session = vigil.session();
  const wake = { key: 'standup', cron: '0 9 * * 1-5', zone: 'Europe/Paris', prompt: 'stand up' };
  expect(await toolSays(session, 'schedule_wake', wake)).toMatch(/Scheduled wake .*09:00 \+0\d:00 Europe\/Paris;.*;/);
  const args: [CancelWakeInput] = [{ wake: 'standup', by: { rank: 'person', name: 'ann' } }];
  await expect(
    vigil.handle(session).executeUpdate<CancelWakeAnswer, [CancelWakeInput]>(UPDATE.cancelWake, { args }),
  ).resolves.toMatchObject({ kind: 'cancelled' });
  expect(await toolSays(session, 'schedule_wake', wake)).toMatch(/Nothing was scheduled.*only a person/);
  expect(await toolSays(session, 'cancel_wake', { wake: 'standup' })).toMatch(/no wake .*standup.*There are no wakes/);
});

test('a worker that is lost in the tool leaves one wake, whose answer the repeated attempt gets', async () => {
  const session = vigil.session();
  const wake = { name: 'schedule_wake', input: { in_seconds: 3_600, key: 'slow', prompt: 'look' } };
  const sent = await vigil.client.send(session, { text: JSON.stringify(wake) }, { agent: 'waker' });
  const { wakeId } = await vigil.output(session, 'WakeScheduled');
  await vigil.worker.kill();
  await vigil.reap();
  await vigil.startWorker(ENVIRONMENT);
  const { text } = await sent.outcome({ signal: AbortSignal.timeout(40_000) });
  expect(text).toContain('Scheduled wake');
  expect(text).toContain(wakeId);
  await until('the one wake', async () => (await vigil.client.state(session)).wakes.length === 1);
  const scheduled = (await vigil.outputs(session)).filter(({ kind }) => kind === 'WakeScheduled');
  expect(scheduled).toMatchObject([{ wakeId, replaced: false }]);
}, 60_000);
