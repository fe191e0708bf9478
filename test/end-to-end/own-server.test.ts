import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { SessionClient } from '../../client/sessions.js';
import { packageRoot } from '../../config/package-root.js';
import { findTemporal } from '../../worker/dev-server/find-temporal.js';
import { freePort } from '../../worker/dev-server/ports.js';
import { ensureSearchAttributes } from '../../worker/dev-server/search-attributes.js';
import { startDevServer, type DevServer } from '../../worker/dev-server/start-server.js';
import { searchMachine } from '../../worker/dev-server/temporal-sources.js';
import { CRASH_TEXT, readTrace } from '../support/crash-scene.js';
import { TestProviders } from '../support/provider.js';
import { until } from '../support/until.js';
import { TestWorker } from '../support/vigil.js';
import { vigilCommand } from '../support/vigil-command.js';

/** What needs a server of its own: one without the settings that speed recovery up, and one whose every session may be drained. */
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'vigil-own-server-')));
const store = join(folder, 'store.db');
const LIMIT_MS = 1_500;

let server: DevServer;
let worker: TestWorker;
let client: SessionClient;
let providers: TestProviders;

beforeAll(async () => {
  const report = () => undefined;
  const { path } = await findTemporal(searchMachine({ env: process.env, report }), report);
  const temporalPath = join(folder, 'temporal-without-settings');
  const off = ['frontend.WorkerCommandsEnabled', 'frontend.enableCancelWorkerPollsOnShutdown'];
  writeFileSync(
    temporalPath,
    `#!/bin/sh\nexec ${path} "$@" ${off.map((name) => `--dynamic-config-value ${name}=false`).join(' ')}\n`,
  );
  chmodSync(temporalPath, 0o755);
  const logPath = join(folder, 'temporal.log');
  server = await startDevServer({ temporalPath, port: await freePort(), uiPort: null, dbPath: null, logPath, report });
  const connection = await Connection.connect({ address: server.address });
  const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace: server.namespace });
  expect(namespaceInfo?.capabilities).toMatchObject({ workerCommands: false, workerPollCompleteOnShutdown: false });
  await ensureSearchAttributes(connection, server.namespace);
  await connection.close();
  providers = await TestProviders.start();
  providers.says({ content: 'alpha beta gamma delta' });
  worker = new TestWorker('worker/main.js', {
    ...{ VIGIL_ADDRESS: server.address, VIGIL_STORE: store, VIGIL_LOG_LEVEL: 'error' },
    VIGIL_MODEL: `${providers.get('openai-compatible').proxy.url}/v1#o4-mini`,
  });
  await worker.isReady();
  client = await SessionClient.connect({ address: server.address, store });
}, 90_000);

afterAll(async () => {
  await client.close();
  await worker.kill();
  await providers.stop();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

test.each([
  ['sent no headers', null],
  ['went silent in mid-stream', 'alpha'],
])('without the push of the server a provider that %s sees the abort in time', async (_, last) => {
  const { proxy } = providers.get('openai-compatible');
  proxy.reset();
  proxy.next((exchange) => (last === null ? exchange.gone : exchange.through(last)));
  const sent = await client.send(`stop-${last}`, { text: 'hello' });
  await until('the request', () => proxy.requests[0]);
  // The answer to a beat would tell of the stop too: this is just after one, with none due for 2.5 s or for ever.
  await delay(3_400);
  const stoppedAtMs = Date.now();
  await client.stop(`stop-${last}`);
  expect(Date.now() - stoppedAtMs).toBeLessThan(LIMIT_MS);
  const abortedAtMs = await until('the abort', () => proxy.requests[0]!.abortedAtMs);
  expect(abortedAtMs - stoppedAtMs).toBeLessThan(LIMIT_MS);
  expect(await sent.outcome()).toMatchObject({ outcome: 'aborted' });
});

test('every running session can be drained and undrained at once', async () => {
  const sessions = Array.from({ length: 25 }, (_, n) => `all-${n}`);
  for (const session of sessions) await (await client.send(session, { text: 'hello' })).outcome();
  const listed = async () => {
    const ids = new Set<string>();
    for await (const id of client.runningSessions()) ids.add(id);
    return ids;
  };
  await until('all to be listed', async () => {
    const ids = await listed();
    return sessions.every((session) => ids.has(`default/${session}`));
  });
  const run = async (...args: string[]) => {
    const places = ['--address', server.address, '--store', store];
    const child = vigilCommand([...args, ...places]);
    return { code: await child.hasEnded(30_000), stdout: child.stdout };
  };
  const drained = await run('drain', '--all', '--json');
  const answers = drained.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { session: string; kind: string });
  expect(drained.code).toBe(0);
  expect(new Set(answers.map((answer) => answer.session))).toEqual(await listed());
  expect(new Set(answers.map((answer) => answer.kind))).toEqual(new Set(['draining']));
  expect(await client.state('all-7')).toMatchObject({ draining: true });
  expect((await run('undrain', '--all')).stdout).toContain('default/all-7: takes up work again');
  expect(await client.state('all-7')).toMatchObject({ draining: false });
  expect((await run('drain')).code).toBe(2);
  expect((await run('drain', 'all-7', '--all')).code).toBe(2);
  expect((await run('drain', 'all-7')).stdout).toBe('all-7: drains; nothing runs, 0 waiting\n');
});

/** With a heartbeat timeout of a minute, nobody else would notice. */
const RECOVERED_MS = 30_000;

test.each(['SIGKILL', 'SIGSTOP'] as const)(
  'without the end of polls at shutdown a worker that is lost by %s is recovered from all the same',
  async (signal) => {
    const taskQueue = `lost-by-${signal}`;
    const tracePath = join(folder, `trace-${signal}`);
    const supervisor = new TestWorker('worker/supervisor-main.js', {
      ...{ VIGIL_ADDRESS: server.address, VIGIL_STORE: store, VIGIL_LOG_LEVEL: 'error', VIGIL_TASK_QUEUE: taskQueue },
      ...{ VIGIL_AGENTS: join(packageRoot(), 'test/support/crash-agent.ts'), VIGIL_TEST_TRACE: tracePath },
      VIGIL_FREEZE_MS: '2000',
    });
    await supervisor.isReady();
    const elsewhere = await SessionClient.connect({ address: server.address, store, taskQueue });
    const sent = await elsewhere.send(`lost-${signal}`, { text: 'go' }, { agent: 'crash' });
    const { pid } = await until('the call', () => readTrace(tracePath)[0]);
    process.kill(pid, signal);
    const outcome = await sent.outcome({ signal: AbortSignal.timeout(RECOVERED_MS) });
    expect(outcome).toMatchObject({ outcome: 'completed', text: CRASH_TEXT });
    expect(readTrace(tracePath).filter(({ what }) => what === 'effect')).toHaveLength(1);
    await elsewhere.close();
    await supervisor.end();
  },
  60_000,
);
