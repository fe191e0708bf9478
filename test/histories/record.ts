import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { say, startServer, startVigilWorker } from '../../bench/servers.js';
import { SessionClient } from '../../client/sessions.js';
import type { Output } from '../../protocol/outputs.js';
import { SIGNAL, TASK_QUEUE, WORKFLOW_TYPE } from '../../protocol/names.js';

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
  'unknown-agent': async ({ temporal, client, session }) => {
    const start = { workflowId: session, taskQueue: TASK_QUEUE, signal: SIGNAL.message, args: [{ agent: 'nobody' }] };
    await temporal.workflow.signalWithStart(WORKFLOW_TYPE, { ...start, signalArgs: [{ id: 'm1', text: 'ping' }] });
    for (let suspended = false; !suspended; ) suspended = (await client.state(session)).status === 'suspended';
    await client.resume(session);
  },
};

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
  const worker = await startVigilWorker(server.address, store);
  const client = await SessionClient.connect({ address: server.address, store });
  const temporal = new Client({ connection: await Connection.connect({ address: server.address }) });
  try {
    for (const name of wanted) {
      await SCENARIOS[name]!(stage(client, temporal, name));
      await new Promise((resolve) => setTimeout(resolve, 500));
      await save(temporal, name);
    }
  } finally {
    await client.close();
    await temporal.connection.close();
    worker.kill('SIGKILL');
    await server.stop();
  }
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
