/** Items that kill whatever worker takes them, and what becomes of those who were in it. */
import { join } from 'node:path';
import { packageRoot } from '../../config/package-root.js';
import { openStore } from '../../store/open-store.js';
import { until } from '../support/until.js';
import { Vigil } from '../support/vigil.js';

const vigil = Vigil.inFileWithoutWorker();
const TEST_MS = 120_000;
const AGENT = { agent: 'deadly' };

beforeAll(async () => {
  await vigil.startSupervisor({ VIGIL_AGENTS: join(packageRoot(), 'test', 'support', 'deadly-agent.ts') });
}, 60_000);

const send = (text: string, session = vigil.session()) => vigil.client.send(session, { text }, AGENT);
const outcomeOf = async (text: string) =>
  (await send(text)).outcome({ signal: AbortSignal.timeout(60_000) }).then(({ outcome, reason, text: said }) => ({
    ...{ outcome, reason, said },
  }));

test(
  'a message that kills its workers ends its turn alone, and everybody else goes on',
  async () => {
    const [deadly, ...others] = await Promise.all(['die at once', 'slowly', 'slowly', 'hello'].map(outcomeOf));
    expect(deadly).toEqual({
      outcome: 'interrupted',
      reason: 'the model call was given up: it killed its worker, where it ran alone',
      said: '',
    });
    for (const other of others) expect(other).toMatchObject({ outcome: 'completed', reason: null });
    const store = await openStore(vigil.store);
    await until('no suspects', async () => (await store.countSuspects()) === 0);
    await store.close();
    expect(vigil.worker.process.exitCode).toBeNull();
    await expect(outcomeOf('hello')).resolves.toMatchObject({ outcome: 'completed', said: 'done' });
  },
  TEST_MS,
);

test(
  'a tool that kills its workers is given up, and the model is told',
  async () => {
    const [repeatable, once] = await Promise.all(['die in repeatable', 'die in once'].map(outcomeOf));
    expect(repeatable).toMatchObject({ outcome: 'completed', said: 'done' });
    expect(once).toMatchObject({ outcome: 'completed', said: 'done' });
    expect(vigil.worker.process.exitCode).toBeNull();
  },
  TEST_MS,
);
