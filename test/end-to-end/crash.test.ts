/** Workers that are killed or frozen at any moment of a turn, with a stall budget so long that waiting for it would show. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Lease } from '../../store/session-store.js';
import { openStore } from '../../store/open-store.js';
import { packageRoot } from '../../config/package-root.js';
import { accumulate, answerText, EMPTY_TRANSCRIPT } from '../../protocol/accumulate.js';
import { CRASH_TEXT, readTrace } from '../support/crash-scene.js';
import { until } from '../support/until.js';
import { Vigil, type TestWorker } from '../support/vigil.js';

/** Far less than the heartbeat timeout of 60 s that would notice otherwise. */
const RECOVERED_MS = 15_000;
const TEST_MS = 120_000;

const vigil = Vigil.inFileWithoutWorker();
const tracePath = join(vigil.folder, 'trace');
const ENVIRONMENT = {
  VIGIL_AGENTS: join(packageRoot(), 'test', 'support', 'crash-agent.ts'),
  VIGIL_TEST_TRACE: tracePath,
  VIGIL_FREEZE_MS: '2000',
  VIGIL_LEASE_MS: '3000',
};
let running: TestWorker[] = [];

beforeEach(() => rmSync(tracePath, { force: true }));
afterEach(async () => {
  await Promise.all(running.map((supervisor) => supervisor.end()));
  running = [];
}, 60_000);

async function aSupervisor(): Promise<TestWorker> {
  const supervisor = await vigil.startSupervisor(ENVIRONMENT);
  running.push(supervisor);
  return supervisor;
}

async function leases(): Promise<Lease[]> {
  const store = await openStore(vigil.store);
  try {
    return await store.leases();
  } finally {
    await store.close();
  }
}

const pidOf = (name: string): number => Number(name.split('/')[1]);

/** The pid of the worker that runs under the supervisor now. */
async function workerOf(supervisor: TestWorker): Promise<number> {
  return until('a leased worker', async () => {
    const lease = (await leases()).find((one) => pidOf(one.supervisor) === supervisor.pid);
    return lease?.worker && lease.takenBy === null && pidOf(lease.worker.instance);
  });
}

/** Two supervisors, a turn at the given moment, and which of the two has its worker. */
async function twoAtMoment(session: string, moment: (session: string) => Promise<unknown>) {
  await aSupervisor();
  await aSupervisor();
  const turn = await begin(session);
  await moment(session);
  const pid = trace().at(-1)!.pid;
  const pids = await Promise.all(running.map(workerOf));
  return { turn, pid, supervisor: running[pids.indexOf(pid)]! };
}

const trace = () => readTrace(tracePath);
const called = (id: string) =>
  until(`the ${id} call`, () => trace().find((one) => one.what === 'call' && one.id === id));

/** Moments of a turn at which its worker is lost. */
const MOMENTS: [string, (session: string) => Promise<unknown>][] = [
  ['before the first token', () => called('first')],
  ['in the middle of its text', (session) => vigil.output(session, 'TextDelta')],
  ['in the middle of a tool', () => until('the effect', () => trace().some((one) => one.what === 'effect'))],
  ['between the tool and the next text', () => called('second')],
  [
    'in the middle of the text after the tool',
    async (session) => {
      await called('second');
      return vigil.output(session, 'TextDelta', ({ text }) => text.includes('gamma'));
    },
  ],
];

async function begin(session: string) {
  const sent = await vigil.client.send(session, { text: 'go' }, { agent: 'crash' });
  return { outcome: () => sent.outcome({ signal: AbortSignal.timeout(RECOVERED_MS) }) };
}

/** One answer without glued text, one effect, and nothing taken from the resume budget. */
async function expectWhole(session: string): Promise<void> {
  const outputs = await vigil.outputs(session);
  const [turn] = accumulate(EMPTY_TRANSCRIPT, outputs).turns;
  expect(turn && answerText(turn)).toBe(CRASH_TEXT);
  expect(outputs.filter((output) => output.kind === 'TurnEnded')).toMatchObject([
    { outcome: 'completed', text: CRASH_TEXT },
  ]);
  expect(trace().filter((one) => one.what === 'effect')).toHaveLength(1);
  expect(tries(outputs).every((attempt) => attempt === 1)).toBe(true);
}

/** Temporal's attempts: a second one would be a resume. */
function tries(outputs: Awaited<ReturnType<typeof vigil.outputs>>): number[] {
  return outputs.flatMap((output) => ('try' in output && output.try ? [output.try.attempt] : []));
}

describe('a worker that is killed', () => {
  test.each(MOMENTS)(
    '%s is replaced, and the turn goes on as if nothing had been',
    async (_, moment) => {
      const supervisor = await aSupervisor();
      const session = vigil.session();
      const turn = await begin(session);
      await moment(session);
      process.kill(await workerOf(supervisor), 'SIGKILL');
      await expect(turn.outcome()).resolves.toMatchObject({ outcome: 'completed', text: CRASH_TEXT });
      await expectWhole(session);
    },
    TEST_MS,
  );
});

describe('a worker that is frozen', () => {
  test(
    'is killed after the freeze verdict, and the turn goes on',
    async () => {
      const supervisor = await aSupervisor();
      const session = vigil.session();
      const turn = await begin(session);
      await vigil.output(session, 'TextDelta');
      const pid = await workerOf(supervisor);
      process.kill(pid, 'SIGSTOP');
      await expect(turn.outcome()).resolves.toMatchObject({ outcome: 'completed', text: CRASH_TEXT });
      await expectWhole(session);
      expect(await workerOf(supervisor)).not.toBe(pid);
    },
    TEST_MS,
  );
});

describe('a supervisor that is lost with its worker', () => {
  test.each(['SIGKILL', 'SIGSTOP'] as const)(
    'by %s leaves them to another supervisor',
    async (signal) => {
      const session = vigil.session();
      const { turn, pid, supervisor } = await twoAtMoment(session, () => vigil.output(session, 'TextDelta'));
      process.kill(supervisor.pid, signal);
      process.kill(pid, signal);
      await expect(turn.outcome()).resolves.toMatchObject({ outcome: 'completed', text: CRASH_TEXT });
      await expectWhole(session);
    },
    TEST_MS,
  );

  test(
    'and wakes up again writes nothing, leaves, and comes back under another name',
    async () => {
      const session = vigil.session();
      const { turn, pid, supervisor: frozen } = await twoAtMoment(session, () => called('second'));
      process.kill(frozen.pid, 'SIGSTOP');
      process.kill(pid, 'SIGSTOP');
      await turn.outcome();
      const before = await vigil.outputs(session);
      process.kill(pid, 'SIGCONT');
      process.kill(frozen.pid, 'SIGCONT');
      const next = await until('another worker', async () => {
        const now = await workerOf(frozen);
        return now !== pid && now;
      });
      expect(next).not.toBe(pid);
      await delay(1_000);
      expect(await vigil.outputs(session)).toEqual(before);
      await expectWhole(session);
      await until('no lease of the past', async () => (await leases()).every((lease) => lease.takenBy === null));
      expect((await leases()).map((lease) => lease.worker !== null)).toEqual([true, true]);
    },
    TEST_MS,
  );
});

describe('a worker that is judged lost by mistake', () => {
  test(
    'notices, and comes back by itself under another name',
    async () => {
      const supervisor = await aSupervisor();
      const pid = await workerOf(supervisor);
      const store = await openStore(vigil.store);
      const mistaken = await until('the moment', async () => {
        const [lease] = await store.leases();
        return lease && (await store.takeOverLease({ ...lease, by: 'a judge in error' })) && lease;
      });
      const next = await until('another worker', async () => {
        const now = await workerOf(supervisor);
        return now !== pid && now;
      });
      expect(next).not.toBe(pid);
      expect(await store.findLease(mistaken.leaseId)).toBeNull();
      await store.close();
      await expect(vigil.ask(vigil.session(), 'ping')).resolves.toMatchObject({ text: 'pong' });
    },
    TEST_MS,
  );
});

describe('a supervisor that is stopped in order', () => {
  test(
    'in the middle of a turn hands it to another worker, and no budget is spent',
    async () => {
      const leaving = await aSupervisor();
      const session = vigil.session();
      const sent = await vigil.client.send(session, { text: 'count to 400' });
      await vigil.output(session, 'TextDelta');
      await aSupervisor();
      await leaving.end();
      expect(await leaving.ended).toBe(0);
      const { outcome, text } = await sent.outcome({ signal: AbortSignal.timeout(60_000) });
      expect([outcome, text.split(' ').length]).toEqual(['completed', 400]);
      const outputs = await vigil.outputs(session);
      expect(tries(outputs).every((attempt) => attempt === 1)).toBe(true);
      expect(JSON.stringify(await vigil.handle(session).fetchHistory())).toContain('WorkerDraining');
      expect(await leases()).toHaveLength(1);
    },
    TEST_MS,
  );
});
