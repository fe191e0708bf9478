import { Client, Connection } from '@temporalio/client';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SessionClient } from '../client/sessions.js';
import { UPDATE } from '../protocol/names.js';
import type { CancelWakeAnswer, CancelWakeInput, ScheduleWakeInput, WakeAnswer } from '../protocol/wakes.js';
import { openStore } from '../store/open-store.js';
import type { SessionStore } from '../store/session-store.js';
import type { Bench } from './bench.js';
import { say, startServer, startVigilWorker } from './servers.js';

/** Requests that are under way at a time while sessions are made and wakes cancelled. */
const AT_ONCE = 10;
/** How often a request is made before its session counts as broken: a machine that is busy with 2,000 sessions may answer late. */
const TRIES = 5;
/** What a due time at the very end of the window may be late. */
const LATE_MS = 10_000;
const WAKE_KEY = 'tick';

interface Size {
  sessions: number;
  everyMs: number;
  /** How long fires are counted. */
  windowMs: number;
}
const SHORT: Size = { sessions: 200, everyMs: 20_000, windowMs: 40_000 };
const LONG: Size = { sessions: 2_000, everyMs: 120_000, windowMs: 240_000 };

/** A due time that has its turn. */
interface Fire {
  dueMs: number;
  lateMs: number;
}

/**
 * Many sessions with one recurring wake each, on one worker. Their due times are spread evenly: what is measured is how sure and how late
 * a due time is, not how fast a queue of turns empties.
 */
export const measureWakes: Bench = async ({ isShort }) => {
  const server = await startServer();
  const path = join(server.folder, 'store.db');
  const worker = await startVigilWorker(server.address, path);
  const client = await SessionClient.connect({ address: server.address, store: path });
  const temporal = new Client({ connection: await Connection.connect({ address: server.address }) });
  const store = await openStore(path);
  try {
    const scene = new WakeBench({ client, temporal, store }, isShort ? SHORT : LONG);
    return report(await scene.run(() => residentMb(worker.pid!)));
  } finally {
    await client.close();
    await temporal.connection.close();
    await store.close();
    worker.kill('SIGKILL');
    await server.stop();
  }
};

interface Measured {
  sessions: number;
  fires: Fire[];
  lost: number;
  doubled: number;
  afterCancel: number;
  workerRssMb: number;
}

function report({ sessions, fires, lost, doubled, afterCancel, workerRssMb }: Measured) {
  const lateMs = fires.map((fire) => fire.lateMs).sort((one, other) => one - other);
  const measured = {
    ...{ sessions, fires: fires.length, lost, doubled, afterCancel },
    ...{ lateP50Ms: quantile(lateMs, 0.5), lateP99Ms: quantile(lateMs, 0.99), workerRssMb },
  };
  const bounds = ['lost', 'doubled', 'afterCancel'] as const;
  return {
    measured,
    broken: [
      ...bounds.filter((key) => measured[key] > 0).map((key) => `${key} is ${measured[key]}, more than 0`),
      ...(fires.length === 0 ? ['no wake fired'] : []),
    ],
  };
}

const quantile = (sorted: number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

class WakeBench {
  private readonly baseMs = Date.now();
  private readonly names: string[];

  constructor(
    private readonly ends: { client: SessionClient; temporal: Client; store: SessionStore },
    private readonly size: Size,
  ) {
    this.names = Array.from({ length: size.sessions }, (_, n) => `default/wakes-${n}`);
  }

  async run(memoryMb: () => number): Promise<Measured> {
    const { sessions, everyMs, windowMs } = this.size;
    await this.forEach((session, n) => this.begin(session, n));
    const fromMs = Date.now();
    say(`${sessions} sessions in ${seconds(fromMs - this.baseMs)}; each wakes every ${seconds(everyMs)}`);
    await delay(windowMs + LATE_MS);
    const workerRssMb = memoryMb();
    const cancelledAtMs = await this.cancelAll();
    say(`cancelled; now nothing may fire for ${seconds(everyMs)}`);
    await delay(everyMs + LATE_MS);
    const counts = await this.count({ fromMs, untilMs: fromMs + windowMs, cancelledAtMs });
    return { sessions, ...counts, workerRssMb };
  }

  private startMs(n: number): number {
    const { sessions, everyMs } = this.size;
    return this.baseMs + Math.round((n * everyMs) / sessions);
  }

  private async begin(session: string, n: number): Promise<void> {
    await this.ends.client.send(session, { id: 'begin', text: 'ping' });
    const schedule = { kind: 'interval', everyMs: this.size.everyMs, startMs: this.startMs(n) } as const;
    const args: [ScheduleWakeInput] = [{ schedule, prompt: 'ping', key: WAKE_KEY }];
    const handle = this.ends.temporal.workflow.getHandle(session);
    const answer = await handle.executeUpdate<WakeAnswer, [ScheduleWakeInput]>(UPDATE.scheduleWake, { args });
    if (answer.kind !== 'scheduled') throw new Error(`${session}: ${JSON.stringify(answer)}`);
  }

  /** When each wake was surely gone. */
  private async cancelAll(): Promise<number[]> {
    const goneMs: number[] = [];
    await this.forEach(async (session, n) => {
      const handle = this.ends.temporal.workflow.getHandle(session);
      const args: [CancelWakeInput] = [{ wake: WAKE_KEY }];
      const options = { args, updateId: 'cancel' };
      const answer = await handle.executeUpdate<CancelWakeAnswer, [CancelWakeInput]>(UPDATE.cancelWake, options);
      if (answer.kind !== 'cancelled') throw new Error(`${session}: ${JSON.stringify(answer)}`);
      goneMs[n] = Date.now();
    });
    return goneMs;
  }

  private async count(window: { fromMs: number; untilMs: number; cancelledAtMs: number[] }) {
    const total = { fires: [] as Fire[], lost: 0, doubled: 0, afterCancel: 0 };
    await this.forEach(async (session, n) => {
      const all = await this.firesOf(session);
      const due = new Set(all.map(({ dueMs }) => dueMs));
      total.fires.push(...all.filter(({ dueMs }) => dueMs >= window.fromMs && dueMs < window.untilMs));
      total.doubled += all.length - due.size;
      total.lost += this.expected(n, window).filter((dueMs) => !due.has(dueMs)).length;
      total.afterCancel += all.filter(({ dueMs }) => dueMs > window.cancelledAtMs[n]!).length;
    });
    return total;
  }

  private async firesOf(sessionId: string): Promise<Fire[]> {
    const outputs = await this.ends.store.readOutputs({ sessionId, afterSeq: 0, limit: 1_000, kinds: ['WakeFired'] });
    return outputs.flatMap((output) => (output.kind === 'WakeFired' ? [output] : []));
  }

  private expected(n: number, { fromMs, untilMs }: { fromMs: number; untilMs: number }): number[] {
    const { everyMs } = this.size;
    const first = this.startMs(n) + Math.ceil((fromMs - this.startMs(n)) / everyMs) * everyMs;
    const count = Math.max(0, Math.ceil((untilMs - first) / everyMs));
    return Array.from({ length: count }, (_, k) => first + k * everyMs);
  }

  private async forEach(run: (session: string, n: number) => Promise<void>): Promise<void> {
    let next = 0;
    const one = async () => {
      while (next < this.names.length) {
        const n = next++;
        await patiently(() => run(this.names[n]!, n));
      }
    };
    // Who is still asking must not be cut off by the end of the bench.
    const results = await Promise.allSettled(Array.from({ length: AT_ONCE }, one));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }
}

/** Every request here may be repeated. */
async function patiently(run: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await run();
    } catch (error) {
      if (tries === TRIES) throw error;
      const { message, cause } = error as Error;
      say(`once more: ${message}${cause instanceof Error ? `: ${cause.message}` : ''}`);
      await delay(1_000);
    }
  }
}

const seconds = (ms: number): string => `${Math.round(ms / 1_000)} s`;

function residentMb(pid: number): number {
  return Math.round(Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1_024);
}
