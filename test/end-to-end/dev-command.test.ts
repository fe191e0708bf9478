/** `vigil dev --headless` as a user runs it: a real Temporal server, a real worker, killed in every way. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Instance } from '../../config/instance.js';
import { isAlive } from '../../config/instance.js';
import { openStore } from '../../store/open-store.js';
import type { Child } from '../support/child.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/until.js';
import { vigilCommand } from '../support/vigil-command.js';

/** Fetching the Temporal CLI for the first time is part of a start. */
const START_LIMIT_MS = 180_000;
const STOP_LIMIT_MS = 40_000;
const TEST_LIMIT_MS = START_LIMIT_MS + 2 * STOP_LIMIT_MS;

const folder = temporaryFolder();
const running: Child[] = [];

afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.end === undefined) child.kill('SIGTERM');
    await child.hasEnded(STOP_LIMIT_MS);
  }
});

function dev(...flags: string[]): Child {
  const command = ['dev', '--headless', '--temporal-port', '0', '--no-ui', '--data-dir', folder()];
  const child = vigilCommand([...command, ...flags]);
  running.push(child);
  return child;
}

async function aReadyInstance(): Promise<{ child: Child; instance: Instance; readyLine: string }> {
  const child = dev();
  const readyLine = await child.line('ready ', START_LIMIT_MS);
  return { child, instance: recorded(), readyLine };
}

function recorded(): Instance {
  return JSON.parse(readFileSync(join(folder(), 'instance.json'), 'utf8')) as Instance;
}

function goneWithin(what: string, pid: number): Promise<boolean> {
  return until(`the end of ${what} (pid ${pid})`, () => !isAlive(pid), STOP_LIMIT_MS);
}

test(
  'it says ready with all that a client needs, and leaves the same in instance.json',
  async () => {
    const { child, instance, readyLine } = await aReadyInstance();
    expect(readyLine).toBe(
      `ready address=${instance.address} namespace=default store=${join(folder(), 'store.db')} ui=none pid=${child.pid}`,
    );
    expect(instance).toMatchObject({ version: 1, pid: child.pid, taskQueue: 'vigil', logDir: join(folder(), 'logs') });
    expect(isAlive(instance.workerPid) && isAlive(instance.temporalPid)).toBe(true);
  },
  TEST_LIMIT_MS,
);

test(
  'a second one in the same folder is refused with the pid of the first',
  async () => {
    const { child } = await aReadyInstance();
    const second = dev();
    expect(await second.hasEnded()).toBe(1);
    expect(second.stderr).toContain(`(pid ${child.pid})`);
    expect(child.end).toBeUndefined();
  },
  TEST_LIMIT_MS,
);

test(
  'Ctrl-C ends everything in order, and the same folder starts again',
  async () => {
    const { child, instance } = await aReadyInstance();
    child.kill('SIGINT');
    expect(await child.hasEnded(STOP_LIMIT_MS)).toBe(0);
    expect(existsSync(join(folder(), 'instance.json'))).toBe(false);
    expect(isAlive(instance.workerPid) || isAlive(instance.temporalPid)).toBe(false);
    await aReadyInstance();
  },
  TEST_LIMIT_MS,
);

test(
  'after kill -9 neither worker nor Temporal server is left, and the same folder starts again',
  async () => {
    const { child, instance } = await aReadyInstance();
    child.kill('SIGKILL');
    await goneWithin('the Temporal server', instance.temporalPid);
    await goneWithin('the worker', instance.workerPid);
    await aReadyInstance();
  },
  TEST_LIMIT_MS,
);

test(
  'a worker or a Temporal server that is killed is started again',
  async () => {
    const { instance } = await aReadyInstance();
    process.kill(instance.workerPid, 'SIGKILL');
    const { workerPid } = await until(
      'another worker',
      () => recorded().workerPid !== instance.workerPid && recorded(),
    );
    process.kill(instance.temporalPid, 'SIGKILL');
    const { temporalPid } = await until(
      'another server',
      () => recorded().temporalPid !== instance.temporalPid && recorded(),
    );
    expect(isAlive(workerPid) && isAlive(temporalPid)).toBe(true);
  },
  TEST_LIMIT_MS,
);

test(
  'a taken port is refused, naming the flag',
  async () => {
    const { instance } = await aReadyInstance();
    const port = instance.address.split(':').at(-1)!;
    const second = dev('--data-dir', join(folder(), 'other'), '--temporal-port', port);
    expect(await second.hasEnded()).toBe(1);
    expect(second.stderr).toContain(`port ${port} is taken by another program; choose another with --temporal-port`);
  },
  TEST_LIMIT_MS,
);

async function vigil(...args: string[]): Promise<Child> {
  const child = vigilCommand(args, {
    env: { ...process.env, VIGIL_ADDRESS: recorded().address, VIGIL_STORE: join(folder(), 'store.db') },
  });
  await child.hasEnded(90_000);
  return child;
}

test(
  'kill -9 of everything in the middle of a turn: the next start answers it, once, and knows the session',
  async () => {
    const first = await aReadyInstance();
    expect((await vigil('chat', 'demo', '--id', 'm1', '--message', 'ping')).stdout).toBe('pong\n');
    const { workerPid, temporalPid } = first.instance;
    const counting = vigil('chat', 'demo', '--id', 'm2', '--message', 'count to 60', '--json');
    await until('the answer to stream', async () => {
      const outputs = await outputsOf('default/demo');
      return outputs.some((output) => output.kind === 'TextDelta');
    });
    for (const pid of [first.child.pid, workerPid, temporalPid]) process.kill(pid, 'SIGKILL');
    await goneWithin('the server', temporalPid);
    await aReadyInstance();
    // The command that waited loses its server; the message does not.
    await counting;
    const again = await vigil('chat', 'demo', '--id', 'm2', '--message', 'count to 60', '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({
      outcome: 'completed',
      text: expect.stringMatching(/^1 2 3 .* 60$/),
    });
    const outputs = await outputsOf('default/demo');
    expect(outputs.filter((output) => output.kind === 'TurnEnded')).toHaveLength(2);
    expect(outputs.filter((output) => output.kind === 'TextStreamDiscarded')).toHaveLength(1);
  },
  TEST_LIMIT_MS + 180_000,
);

async function outputsOf(sessionId: string) {
  const store = await openStore(join(folder(), 'store.db'));
  try {
    return await store.readOutputs({ sessionId, afterSeq: 0, limit: 10_000 });
  } finally {
    await store.close();
  }
}
