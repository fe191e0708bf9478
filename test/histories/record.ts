import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { type ChildProcess, fork, type ForkOptions } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ready, say, startServer, startVigilWorker } from '../../bench/servers.js';
import { SessionClient } from '../../client/sessions.js';
import { compiledPath, packageRoot } from '../../config/package-root.js';
import type { SessionView } from '../../protocol/view.js';
import type {
  CancelWakeAnswer,
  CancelWakeInput,
  CloseAnswer,
  EditWakeInput,
  ScheduleWakeInput,
  WakeAnswer,
} from '../../protocol/wakes.js';
import type { Output } from '../../protocol/outputs.js';
import { QUERY, SIGNAL, TASK_QUEUE, UPDATE, WORKFLOW_TYPE } from '../../protocol/names.js';

interface Stage {
  client: SessionClient;
  temporal: Client;
  session: string;
  /** Sends, and waits for the outcome. */
  ask(text: string, id?: string): Promise<unknown>;
  /** Sends, and waits until the turn streams, or for another output. */
  begin(text: string, until?: Output['kind']): Promise<{ outcome(): Promise<unknown> }>;
}

/** A file each: `<name>.json`. */
const SCENARIOS: Record<string, (stage: Stage) => Promise<unknown>> = {
  'plain-turns': async ({ ask }) => {
    await ask('hello');
    await ask('ping');
  },
  tool: ({ ask }) => ask('what time is it?'),
  repeat: async ({ ask }) => {
    await ask('ping', 'm1');
    await ask('ping', 'm1');
    await ask('other', 'm1');
  },
  steered: async ({ begin, ask }) => {
    const first = await begin('wait for 2 seconds', 'ToolStarted');
    await ask('ping');
    await first.outcome();
  },
  'next-in-line': async ({ begin, ask }) => {
    const first = await begin('count to 20');
    await ask('ping');
    await first.outcome();
  },
  queued: async ({ client, session, begin }) => {
    await begin('count to 20');
    await (await client.send(session, { text: 'ping', mode: 'queue' })).outcome();
  },
  malformed: async ({ temporal, session, ask }) => {
    await ask('ping');
    const handle = temporal.workflow.getHandle(session);
    await handle.signal(SIGNAL.message, { id: 5 });
    await handle.signal('unknown', 1);
    await ask('ping');
  },
  'resumed-stream': ({ ask }) => ask('fault: break once'),
  'broken-stream': ({ ask }) => ask('fault: break'),
  'provider-busy': ({ ask }) => ask('fault: 429 once'),
  'provider-rejects': async ({ ask }) => {
    await ask('fault: 401');
    await ask('ping');
  },
  'continued-as-new': async ({ ask }) => {
    for (let turn = 0; turn < 240; turn++) await ask('ping');
  },
  stopped: async ({ client, session, begin, ask }) => {
    const streaming = await begin('count to 500');
    await client.send(session, { id: 'queued', text: 'wait for 60 seconds', mode: 'queue' });
    await client.stop(session);
    await streaming.outcome();
    for (let runs = false; !runs; ) runs = /tools/.test((await client.state(session)).turn?.step ?? '');
    await client.stop(session);
    const busy = await client.send(session, { text: 'fault: 429' });
    for (let waits = false; !waits; ) waits = /waiting/.test((await client.state(session)).turn?.step ?? '');
    await client.stop(session);
    await busy.outcome();
    await client.stop(session);
    await ask('ping');
  },
  drained: async ({ client, session, begin }) => {
    const running = await begin('wait for 2 seconds', 'ToolStarted');
    await client.drain(session);
    const queued = await client.send(session, { text: 'fault: 429' });
    await running.outcome();
    await client.drain(session);
    await client.undrain(session);
    for (let waits = false; !waits; ) waits = /waiting/.test((await client.state(session)).turn?.step ?? '');
    await client.drain(session);
    await queued.outcome();
    await client.undrain(session);
    await (await client.send(session, { text: 'ping' })).outcome();
  },
  'account-gate': async ({ client, session }) => {
    const ask = (name: string) => client.send(name, { text: 'hello' }, { agent: 'gated' });
    const other = await ask(`${session}-other`);
    for (let waits = false; !waits; ) waits = /provider/.test((await view(client, `${session}-other`)) ?? '');
    await (await ask(session)).outcome();
    await other.outcome();
  },
  fallback: async ({ client, session }) => {
    await (await client.send(session, { text: 'hello' }, { agent: 'chained' })).outcome();
    await (await client.send(session, { text: 'what time is it?' })).outcome();
  },
  'capacity-wait': async ({ client, session }) => {
    const ask = (name: string, text: string) => client.send(name, { text }, { agent: 'patient' });
    const hog = `${session}-hog`;
    for (const name of [hog, session]) await (await ask(name, 'ping')).outcome();
    const busy = await ask(hog, 'both');
    for (let runs = false; !runs; ) runs = /tools/.test((await view(client, hog)) ?? '');
    await (await ask(session, 'both')).outcome();
    await busy.outcome();
    await (await ask(session, 'ping')).outcome();
  },
  'capacity-lacking': async ({ client, session }) => {
    const ask = (name: string, text: string) => client.send(name, { text }, { agent: 'impatient' });
    const hog = `${session}-hog`;
    for (const name of [hog, session]) await (await ask(name, 'ping')).outcome();
    const busy = await ask(hog, 'both');
    for (let runs = false; !runs; ) runs = /tools/.test((await view(client, hog)) ?? '');
    await (await ask(session, 'ping')).outcome();
    await busy.outcome();
    await (await ask(session, 'both')).outcome();
  },
  'wake-once': async ({ temporal, session, begin, ask }) => {
    const busy = await begin('wait for 4 seconds', 'ToolStarted');
    await schedule(temporal, session, { schedule: { kind: 'once', inMs: 1_000 } });
    await busy.outcome();
    await fires(1, { temporal, session });
    await ask('ping');
  },
  'wake-interval': async ({ temporal, session, ask }) => {
    await ask('ping');
    const schedule5s = { schedule: { kind: 'interval', everyMs: 5_000 }, key: 'tick', zone: 'Europe/Paris' } as const;
    await schedule(temporal, session, schedule5s);
    await fires(3, { temporal, session });
    await cancel(temporal, session, 'tick');
    await ask('ping');
  },
  'wake-cancelled': async ({ temporal, session, begin, ask }) => {
    const busy = await begin('wait for 8 seconds', 'ToolStarted');
    await schedule(temporal, session, { schedule: { kind: 'interval', everyMs: 5_000 }, key: 'tick' });
    await schedule(temporal, session, { schedule: { kind: 'cron', expression: '0 9 * * *' }, key: 'daily' });
    await temporal.workflow.getHandle(session).executeUpdate<WakeAnswer, [EditWakeInput]>(UPDATE.editWake, {
      args: [{ wake: 'daily', zone: 'America/New_York' }],
    });
    await schedule(temporal, session, { schedule: { kind: 'cron', expression: 'never' } });
    await fires(1, { temporal, session, isQueued: true });
    await cancel(temporal, session, 'tick');
    await cancel(temporal, session, 'tick');
    await busy.outcome();
    await ask('ping');
  },
  closed: async ({ temporal, client, session, begin }) => {
    const running = await begin('count to 500');
    await schedule(temporal, session, { schedule: { kind: 'interval', everyMs: 60_000 } });
    await client.send(session, { text: 'ping', mode: 'queue' });
    await temporal.workflow.getHandle(session).executeUpdate<CloseAnswer, []>(UPDATE.close);
    await running.outcome();
    await temporal.workflow.getHandle(session).result();
  },
  reminder: async ({ temporal, client, session, begin, ask }) => {
    await ask('ping');
    const handle = temporal.workflow.getHandle(session);
    const reminder = { reminderId: 'stretch', dueMs: 1_000, prompt: 'ping' };
    await handle.signal(SIGNAL.reminder, reminder);
    for (let turns = 1; turns < 2; ) turns = (await client.state(session)).turns;
    await handle.signal(SIGNAL.reminder, reminder);
    const busy = await begin('wait for 2 seconds', 'ToolStarted');
    await handle.signal(SIGNAL.reminder, { ...reminder, dueMs: 2_000, onBusy: 'refuse' });
    await handle.signal(SIGNAL.reminder, { ...reminder, dueMs: 3_000 });
    await busy.outcome();
    await ask('ping');
  },
  stalled: async ({ client, session }) => {
    await (await client.send(session, { text: 'fault: stall once' }, { agent: 'quick' })).outcome();
    await (await client.send(session, { text: 'ping' })).outcome();
  },
  exhausted: async ({ client, session }) => {
    await (await client.send(session, { text: 'fault: stall' }, { agent: 'quick' })).outcome();
    await (await client.send(session, { text: 'ping' })).outcome();
  },
  'lost-worker': async ({ client, session }) => {
    const running = await client.send(session, { text: 'slowly' }, { agent: 'deadly' });
    await (await client.send(`${session}-other`, { text: 'die in once' }, { agent: 'deadly' })).outcome();
    await running.outcome();
  },
  delivered: async ({ client, session }) => {
    await (await client.send(session, { text: 'ping', channel: 'hook' })).outcome();
    await (await client.send(session, { text: 'ping', channel: 'undeclared' })).placed();
    await (await client.send(session, { text: 'ping' })).outcome();
  },
  nudged: async ({ client, session, begin }) => {
    const running = await begin('count to 20');
    await client.nudge(session);
    await running.outcome();
    await client.nudge(session);
  },
  suspect: async ({ client, session }) => {
    await (await client.send(session, { text: 'die at once' }, { agent: 'deadly' })).outcome();
    await (await client.send(session, { text: 'die in repeatable' })).outcome();
  },
  'unknown-agent': async ({ temporal, client, session }) => {
    const start = { workflowId: session, taskQueue: TASK_QUEUE, signal: SIGNAL.message, args: [{ agent: 'nobody' }] };
    await temporal.workflow.signalWithStart(WORKFLOW_TYPE, { ...start, signalArgs: [{ id: 'm1', text: 'ping' }] });
    for (let suspended = false; !suspended; ) suspended = (await client.state(session)).status === 'suspended';
    await client.resume(session);
  },
};

const agentFile = (name: string) => join(packageRoot(), 'test', 'support', `${name}.ts`);
const AGENTS = agentFile('capacity-agents');
const NARROW_QUEUE = 'narrow';
const SUPERVISED_QUEUE = 'supervised';
/** Those whose workers die, or whose model falls silent: their agents have a stream gap of a second. */
const SUPERVISED = new Set(['stalled', 'exhausted', 'lost-worker', 'suspect']);
/** Those that want a worker with room for one activity. */
const NARROW = new Set(['capacity-wait', 'capacity-lacking']);

const view = async (client: SessionClient, session: string) =>
  (await client.state(session).catch(() => null))?.turn?.step;

async function schedule(temporal: Client, session: string, wake: Omit<ScheduleWakeInput, 'prompt'>): Promise<void> {
  const args: [ScheduleWakeInput] = [{ prompt: 'ping', ...wake }];
  await temporal.workflow
    .getHandle(session)
    .executeUpdate<WakeAnswer, [ScheduleWakeInput]>(UPDATE.scheduleWake, { args });
}

async function cancel(temporal: Client, session: string, wake: string): Promise<void> {
  await temporal.workflow
    .getHandle(session)
    .executeUpdate<CancelWakeAnswer, [CancelWakeInput]>(UPDATE.cancelWake, { args: [{ wake }] });
}

interface Fires {
  temporal: Client;
  session: string;
  /** It is enough that an occurrence waits. */
  isQueued?: boolean;
}

/** Waits until the session's first wake, or one that is gone by then, has fired so often and nothing runs. */
async function fires(times: number, { temporal, session, isQueued = false }: Fires): Promise<void> {
  for (;;) {
    const { wakes, turn, queue } = await temporal.workflow.getHandle(session).query<SessionView>(QUERY.state);
    const isDone = (wakes[0]?.counts.fired ?? times) >= times;
    if (isDone && (isQueued ? queue.length > 0 : turn === null && queue.length === 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

const folder = fileURLToPath(new URL('.', import.meta.url));
const asked = process.argv.slice(2);
const names = Object.keys(SCENARIOS).filter((name) =>
  asked.length > 0 ? asked.includes(name) : !existsSync(join(folder, `${name}.json`)),
);
if (names.length === 0) say('every scenario is recorded already; name one to record it again');
else await record(names);
process.exit(0);

async function record(wanted: string[]): Promise<void> {
  const server = await startServer();
  const store = join(server.folder, 'store.db');
  const provider = await startProvider();
  const hook = { kind: 'webhook', url: `${provider}/hook`, secretVariable: 'VIGIL_TEST_HOOK_SECRET' };
  const environment = {
    ...{ VIGIL_AGENTS: AGENTS, VIGIL_TEST_PROVIDER: provider },
    ...{ VIGIL_CHANNELS: JSON.stringify({ hook }), VIGIL_TEST_HOOK_SECRET: Buffer.from('a secret of tests').toString('base64') },
  };
  const workers = [
    await startVigilWorker(server.address, store, environment),
    await startNarrowWorker({ VIGIL_ADDRESS: server.address, VIGIL_STORE: store, ...environment }),
    await startSupervisor({ VIGIL_ADDRESS: server.address, VIGIL_STORE: store }),
  ];
  const client = await SessionClient.connect({ address: server.address, store });
  const narrow = await SessionClient.connect({ address: server.address, store, taskQueue: NARROW_QUEUE });
  const supervised = await SessionClient.connect({ address: server.address, store, taskQueue: SUPERVISED_QUEUE });
  const clientOf = (name: string) => (NARROW.has(name) ? narrow : SUPERVISED.has(name) ? supervised : client);
  const temporal = new Client({ connection: await Connection.connect({ address: server.address }) });
  try {
    for (const name of wanted) {
      await SCENARIOS[name]!(stage(clientOf(name), temporal, name));
      await new Promise((resolve) => setTimeout(resolve, 500));
      await save(temporal, name);
    }
  } finally {
    await Promise.all([client.close(), narrow.close(), supervised.close(), temporal.connection.close()]);
    for (const worker of workers) worker.kill('SIGKILL');
    await server.stop();
  }
}

function startSupervisor(environment: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const agents = JSON.stringify([agentFile('quick-agent'), agentFile('deadly-agent')]);
  const env = { ...process.env, VIGIL_TASK_QUEUE: SUPERVISED_QUEUE, VIGIL_AGENTS: agents, ...environment };
  return ready(fork(compiledPath('worker/supervisor-main.js'), [], { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }));
}

function startNarrowWorker(environment: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const env = { ...process.env, VIGIL_TASK_QUEUE: NARROW_QUEUE, ...environment };
  const options: ForkOptions = { env, cwd: packageRoot(), stdio: ['ignore', 'inherit', 'inherit', 'ipc'] };
  return ready(fork(join(packageRoot(), 'node_modules', 'jiti', 'lib', 'jiti-cli.mjs'), ['test/support/narrow-worker.ts'], options));
}

/** One that is busy at first, and knows no model but one. */
async function startProvider(): Promise<string> {
  let isBusy = true;
  const answer = { choices: [{ index: 0, delta: { content: 'here I am' }, finish_reason: 'stop' }] };
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const status = body.includes('"model":"big"') ? 401 : isBusy ? 429 : 200;
      if (status === 429) isBusy = false;
      response.writeHead(status, { 'retry-after': '3', 'content-type': 'text/event-stream' });
      response.end(status === 200 ? `data: ${JSON.stringify(answer)}\n\ndata: [DONE]\n\n` : '{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function stage(client: SessionClient, temporal: Client, name: string): Stage {
  const session = `default/${name}`;
  return {
    client,
    temporal,
    session,
    ask: async (text, id) => (await client.send(session, { text, ...(id === undefined ? {} : { id }) })).outcome(),
    begin: async (text, until = 'TextDelta') => {
      const sent = await client.send(session, { text });
      for await (const outputs of client.outputs(session, { afterSeq: 0 })) {
        if (outputs.some((output) => output.kind === until)) break;
      }
      return sent;
    },
  };
}

/** The run that began the session; where it continued as new, the newest run too. */
async function save(temporal: Client, name: string): Promise<void> {
  const newest = temporal.workflow.getHandle(`default/${name}`);
  const { raw, runId } = await newest.describe();
  const firstRunId = raw.workflowExecutionInfo?.firstRunId ?? runId;
  await saveRun(temporal, name, name, firstRunId);
  if (firstRunId !== runId) await saveRun(temporal, name, `${name}-2`, runId);
}

async function saveRun(temporal: Client, workflow: string, name: string, runId: string): Promise<void> {
  const history = await temporal.workflow.getHandle(`default/${workflow}`, runId).fetchHistory();
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(JSON.parse(historyToJSON(history)), null, 1)}\n`);
  say(`recorded ${name}: ${history.events?.length ?? 0} events`);
}
