import { join } from 'node:path';
import { SessionClient } from '../../client/sessions.js';
import { packageRoot } from '../../config/package-root.js';
import { until } from '../support/until.js';
import { Vigil } from '../support/vigil.js';

const vigil = Vigil.inFile();
const NUDGES = 1_000;

test('a thousand nudges at once, of two clients, start one turn, and each has its answer', async () => {
  const session = vigil.session();
  // No worker has the agent yet: the session stands still, with a message that waits.
  await vigil.client.send(session, { id: 'm1', text: 'hello' }, { agent: 'wakes' });
  await until('the suspension', async () => (await vigil.client.state(session)).suspended);
  await vigil.worker.end();
  await vigil.startWorker({ VIGIL_AGENTS: join(packageRoot(), 'test/support/wakes-agent.ts') });
  const other = await SessionClient.connect(vigil);
  const before = (await vigil.client.state(session)).historyEvents;
  const answers = await Promise.all(
    Array.from({ length: NUDGES }, (_, n) => (n % 2 === 0 ? vigil.client : other).nudge(session)),
  );
  expect(answers).toContain('started');
  expect(answers.filter((answer) => answer !== 'started' && answer !== 'already_running')).toEqual([]);
  await vigil.output(session, 'TurnEnded');
  const { turns, suspended, historyEvents } = await vigil.client.state(session);
  expect({ suspended, turns }).toEqual({ suspended: null, turns: 2 });
  expect(historyEvents - before).toBeLessThan(40);
  const started = (await vigil.outputs(session)).filter(({ kind }) => kind === 'TurnStarted');
  expect(started).toHaveLength(1);
  await expect(
    until('a nudge that finds no work', async () => (await other.nudge(session)) === 'no_work'),
  ).resolves.toBe(true);
  await other.close();
});

test('a nudge of a session that runs changes nothing, and one of an unknown session says so', async () => {
  const session = vigil.session();
  const sent = await vigil.client.send(session, { text: 'wait for 2 seconds' });
  await vigil.output(session, 'ToolStarted');
  await expect(vigil.client.nudge(session)).resolves.toBe('already_running');
  await expect(sent.outcome()).resolves.toMatchObject({ outcome: 'completed' });
  await expect(vigil.client.nudge(vigil.session('nobody'))).rejects.toMatchObject({ code: 'unknown_session' });
});
