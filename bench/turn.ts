import { Client, Connection } from '@temporalio/client';
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SessionClient } from '../client/sessions.js';
import type { Bench } from './bench.js';
import { ready, say, startServer, startVigilWorker } from './servers.js';

/** Sends the message `id` to session number `n` and resolves when its turn is over. */
type Turn = (n: number, id: string) => Promise<void>;

const SESSIONS = 50;
const RATIO_BOUND = 0.8;
const EVENTS_BOUND = 12;

/**
 * Turns per second and latency of Vigil and of a bare signal-activity loop on the same server, in turns (A B A B) so that a drift of
 * the machine hits both; and what a turn costs in history, early and late in a session's life.
 */
export const measureTurn: Bench = async ({ isShort }) => {
  const server = await startServer();
  const store = join(server.folder, 'store.db');
  const vigilWorker = await startVigilWorker(server.address, store);
  const floorWorker = await startFloorWorker(server.address);
  const client = await SessionClient.connect({ address: server.address, store });
  const temporal = new Client({ connection: await Connection.connect({ address: server.address }) });
  const vigil: Turn = async (n, id) => void (await (await client.send(`bench-${n}`, { id, text: 'ping' })).outcome());
  const floor = await floorTurns(temporal, floorWorker);
  try {
    const rounds = isShort ? 2 : 4;
    const turns = isShort ? 400 : 1_000;
    const rates = { vigil: [] as number[], floor: [] as number[] };
    await throughput(vigil, 100, 'warm-v');
    await throughput(floor, 100, 'warm-f');
    for (let round = 0; round < rounds; round++) {
      rates.floor.push(await throughput(floor, turns, `f${round}`));
      rates.vigil.push(await throughput(vigil, turns, `v${round}`));
      say(
        `round ${round + 1} of ${rounds}: floor ${rates.floor.at(-1)!.toFixed(1)}, vigil ${rates.vigil.at(-1)!.toFixed(1)} turns/s`,
      );
    }
    const [vigilP50, floorP50] = [await medianLatency(vigil, 'lv'), await medianLatency(floor, 'lf')];
    const cost = await historyCost(client, temporal, isShort);
    const vigilRate = median(rates.vigil);
    const floorRate = median(rates.floor);
    const measured = {
      'vigil.turnsPerSecond': round1(vigilRate),
      'floor.turnsPerSecond': round1(floorRate),
      ratio: Math.round((vigilRate / floorRate) * 1_000) / 1_000,
      'vigil.p50Ms': round1(vigilP50),
      'floor.p50Ms': round1(floorP50),
      ...cost,
    };
    const broken = [
      ...(measured.ratio < RATIO_BOUND ? [`ratio ${measured.ratio} is below ${RATIO_BOUND}`] : []),
      ...(cost.eventsPerTurn > EVENTS_BOUND
        ? [`a turn costs ${cost.eventsPerTurn} events, more than ${EVENTS_BOUND}`]
        : []),
      ...(cost.bytesPerTurnAt1000 > cost.bytesPerTurnAt10 * 1.05
        ? ['the bytes of a turn grow with the age of the session']
        : []),
    ];
    return { measured, broken };
  } finally {
    await client.close();
    await temporal.connection.close();
    for (const child of [vigilWorker, floorWorker]) child.kill('SIGKILL');
    await server.stop();
  }
};

function startFloorWorker(address: string): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('./floor-worker.ts', import.meta.url));
  const jiti = fileURLToPath(new URL('../node_modules/jiti/lib/jiti-cli.mjs', import.meta.url));
  return ready(fork(jiti, [script, address, 'floor'], { stdio: ['ignore', 2, 2, 'ipc'] }));
}

async function floorTurns(temporal: Client, worker: ChildProcess): Promise<Turn> {
  const waiting = new Map<string, () => void>();
  worker.on('message', (message: { kind: string; id?: string }) => {
    if (message.kind === 'answered' && message.id) waiting.get(message.id)?.();
  });
  const handles = await Promise.all(
    Array.from({ length: SESSIONS }, (_, n) =>
      temporal.workflow.start('floor', { taskQueue: 'floor', workflowId: `floor-${n}` }),
    ),
  );
  return (n, id) =>
    new Promise((resolve, reject) => {
      waiting.set(id, () => {
        waiting.delete(id);
        resolve();
      });
      handles[n]!.signal('message', id).catch(reject);
    });
}

/** Every session at work at once, each one turn after the other. */
async function throughput(turn: Turn, turns: number, name: string): Promise<number> {
  const startedMs = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: SESSIONS }, async (_, n) => {
      while (next < turns) await turn(n, `${name}-${next++}`);
    }),
  );
  return turns / ((performance.now() - startedMs) / 1_000);
}

/** One turn at a time on an idle server. */
async function medianLatency(turn: Turn, name: string): Promise<number> {
  const latencies: number[] = [];
  for (let i = 0; i < 40; i++) {
    const startedMs = performance.now();
    await turn(0, `${name}-${i}`);
    latencies.push(performance.now() - startedMs);
  }
  return median(latencies);
}

/** Events and bytes that one turn adds to history, at the tenth turn and at the thousandth of the same session. */
async function historyCost(client: SessionClient, temporal: Client, isShort: boolean) {
  const late = isShort ? 400 : 1_000;
  const session = 'bench-age';
  let atTen = { events: 0, bytes: 0 };
  for (let turn = 1; turn < late; turn++) {
    if (turn === 10) atTen = await costOfTurn(client, temporal, session);
    else await (await client.send(session, { text: 'ping' })).outcome();
    if (turn % 200 === 0) say(`ageing a session: ${turn} of ${late} turns`);
  }
  const atLate = await costOfTurn(client, temporal, session);
  return {
    eventsPerTurn: Math.max(atTen.events, atLate.events),
    bytesPerTurnAt10: atTen.bytes,
    bytesPerTurnAt1000: atLate.bytes,
  };
}

/** A turn in which the session rolled over tells nothing; then the next one is measured. */
async function costOfTurn(
  client: SessionClient,
  temporal: Client,
  session: string,
): Promise<{ events: number; bytes: number }> {
  for (;;) {
    const before = await settled(temporal, session);
    await (await client.send(session, { text: 'ping' })).outcome();
    const after = await settled(temporal, session);
    if (after.runId === before.runId)
      return { events: after.events - before.events, bytes: after.bytes - before.bytes };
  }
}

/** The outcome is known a moment before the workflow task that recorded it is in history. */
async function settled(temporal: Client, session: string) {
  await new Promise((resolve) => setTimeout(resolve, 300));
  return sizeOf(temporal, session);
}

async function sizeOf(temporal: Client, session: string) {
  const { runId, historyLength, historySize } = await temporal.workflow.getHandle(`default/${session}`).describe();
  return { runId, events: historyLength, bytes: historySize ?? 0 };
}

function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}

const round1 = (value: number): number => Math.round(value * 10) / 10;
