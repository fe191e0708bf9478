/** `vigil worker` as a process: how it ends, and what ends with it. */
import { isAlive } from '../../config/instance.js';
import { openStore } from '../../store/open-store.js';
import { ApplicationFailure } from '@temporalio/common';
import { until } from '../support/until.js';
import { Vigil } from '../support/vigil.js';

const vigil = Vigil.inFileWithoutWorker();
const TEST_MS = 120_000;

async function withStore<T>(use: (store: Awaited<ReturnType<typeof openStore>>) => Promise<T>): Promise<T> {
  const store = await openStore(vigil.store);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** The pid of the only leased worker, other than `old`. */
function workerPid(old = 0): Promise<number> {
  return until('a leased worker', async () => {
    const [lease] = await withStore((store) => store.leases());
    const pid = Number(lease?.worker?.instance.split('/')[1] ?? 0);
    return pid !== 0 && pid !== old && pid;
  });
}

test(
  'a supervisor that is killed takes its worker along, which ends in order',
  async () => {
    const supervisor = await vigil.startSupervisor();
    const pid = await workerPid();
    await supervisor.kill();
    await until('the end of the worker', () => !isAlive(pid));
    const next = await vigil.startSupervisor();
    await until('only the lease of the living', async () => {
      const leases = await withStore((store) => store.leases());
      return leases.length === 1 && leases[0]?.supervisor.split('/')[1] === String(next.pid);
    });
    await next.end();
    expect(await next.ended).toBe(0);
    expect(await withStore((store) => store.leases())).toEqual([]);
  },
  TEST_MS,
);

test(
  'a try that was ended on the server and goes on streaming writes nothing more',
  async () => {
    const supervisor = await vigil.startSupervisor();
    const session = vigil.session();
    const sent = await vigil.client.send(session, { text: 'count to 60' });
    await vigil.output(session, 'TextDelta');
    const [task] = await withStore((store) => store.openTasks());
    const lost = ApplicationFailure.create({
      type: 'WorkerLost',
      nonRetryable: true,
      details: [{ attempt: 1, phase: null }],
    });
    await vigil.temporal.activity.fail(Buffer.from(task!.taskToken, 'base64'), lost);
    await expect(sent.outcome()).resolves.toMatchObject({ text: expect.stringMatching(/^1 2 3 .* 60$/) });
    const outputs = await vigil.outputs(session);
    const discarded = outputs.findIndex((output) => output.kind === 'TextStreamDiscarded');
    const dispatches = outputs
      .slice(discarded)
      .flatMap((output) => (output.kind === 'TextDelta' ? [output.try.dispatch] : []));
    expect(new Set(dispatches)).toEqual(new Set([2]));
    await supervisor.end();
  },
  TEST_MS,
);

test(
  'a worker that ends five times in a minute is given up, with the reason',
  async () => {
    const supervisor = await vigil.startSupervisor();
    for (let exits = 0, pid = 0; exits < 5; exits++) {
      pid = await workerPid(pid);
      process.kill(pid, 'SIGKILL');
    }
    expect(await supervisor.ended).toBe(1);
    expect(supervisor.log).toContain('given up: it ended (signal SIGKILL)');
  },
  TEST_MS,
);
