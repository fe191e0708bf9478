import { rmSync } from 'node:fs';
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SessionClient } from '../client/sessions.js';
import { compiledPath, packageRoot } from '../config/package-root.js';
import { accumulate, answerText, EMPTY_TRANSCRIPT } from '../protocol/accumulate.js';
import type { Output } from '../protocol/outputs.js';
import { openStore } from '../store/open-store.js';
import type { SessionStore } from '../store/session-store.js';
import { CRASH_TEXT, readTrace, type Traced } from '../test/support/crash-scene.js';
import type { Bench } from './bench.js';
import { ready, say, startServer } from './servers.js';

const FREEZE_MS = 5_000;
const LEASE_MS = 5_000;
/** What a recovery may take once the loss can be known. */
const MEDIAN_MS = 1_500;
const MAX_MS = 3_000;
/** How long an undisturbed turn takes. */
const TURN_MS = 3_200;
const UNFINISHED_MS = 40_000;

type Fault = 'kill' | 'freeze' | 'supervisorKill' | 'supervisorFreeze';

interface Run {
  /** From the fault to the next request to the model in another process; `null` when the turn ended without one. */
  recoveryMs: number | null;
  isFinished: boolean;
  doubledEffects: number;
  isGlued: boolean;
  resumes: number;
}

/**
 * Turns whose worker is killed or frozen at random moments: the only one there is, or with its supervisor while another one lives. The
 * stall budget is a minute: nothing here may wait for it.
 */
export const measureCrashes: Bench = async ({ isShort }) => {
  const scene = await Scene.set();
  try {
    const kills = await scene.run('kill', isShort ? 5 : 20);
    const freezes = await scene.run('freeze', isShort ? 2 : 8);
    await scene.addSupervisor();
    const stopped = await scene.run('supervisorFreeze', isShort ? 1 : 4);
    const killed = await scene.run('supervisorKill', isShort ? 1 : 4);
    const supervisors = [...stopped, ...killed];
    const all = [...kills, ...freezes, ...supervisors];
    const sum = (of: (run: Run) => number) => all.reduce((total, run) => total + of(run), 0);
    const measured = {
      'kill.runs': kills.length,
      'kill.medianMs': median(kills),
      'kill.maxMs': Math.max(...recoveries(kills)),
      'freeze.runs': freezes.length,
      'freeze.medianMs': median(freezes),
      'freeze.verdictMs': FREEZE_MS,
      'supervisor.runs': supervisors.length,
      'supervisor.medianMs': median(supervisors),
      'supervisor.leaseMs': LEASE_MS,
      unfinished: sum((run) => (run.isFinished ? 0 : 1)),
      toolEffectsDoubled: sum((run) => run.doubledEffects),
      gluedTexts: sum((run) => (run.isGlued ? 1 : 0)),
      resumesSpent: sum((run) => run.resumes),
    };
    return { measured, broken: brokenBounds(measured) };
  } finally {
    await scene.end();
  }
};

function brokenBounds(measured: Record<string, number>): string[] {
  const bounds: [string, number][] = [
    ['kill.medianMs', MEDIAN_MS],
    ['kill.maxMs', MAX_MS],
    ['freeze.medianMs', FREEZE_MS + MEDIAN_MS],
    ['supervisor.medianMs', LEASE_MS + MEDIAN_MS],
    ['unfinished', 0],
    ['toolEffectsDoubled', 0],
    ['gluedTexts', 0],
    ['resumesSpent', 0],
  ];
  return bounds
    .filter(([key, bound]) => !(measured[key]! <= bound))
    .map(([key, bound]) => `${key} is ${measured[key]}, more than ${bound}`);
}

class Scene {
  private readonly supervisors: ChildProcess[] = [];
  private turns = 0;

  private constructor(
    private readonly server: Awaited<ReturnType<typeof startServer>>,
    private readonly client: SessionClient,
    private readonly store: SessionStore,
  ) {}

  static async set(): Promise<Scene> {
    const server = await startServer();
    const location = join(server.folder, 'store.db');
    const client = await SessionClient.connect({ address: server.address, store: location });
    const scene = new Scene(server, client, await openStore(location));
    await scene.addSupervisor();
    return scene;
  }

  async run(fault: Fault, times: number): Promise<Run[]> {
    const runs: Run[] = [];
    for (let i = 0; i < times; i++) {
      await this.settle();
      runs.push(await this.crash(fault));
      say(`${fault} ${i + 1} of ${times}: ${JSON.stringify(runs.at(-1))}`);
    }
    return runs;
  }

  async end(): Promise<void> {
    await this.client.close();
    await this.store.close();
    await Promise.all(
      this.supervisors.map(async (supervisor) => {
        const ended = new Promise((resolve) => supervisor.once('exit', resolve));
        supervisor.kill('SIGTERM');
        await Promise.race([ended, delay(20_000, undefined, { ref: false })]);
      }),
    );
    await this.server.stop();
  }

  private get tracePath(): string {
    return join(this.server.folder, 'trace');
  }

  async addSupervisor(): Promise<void> {
    const env = {
      ...process.env,
      VIGIL_ADDRESS: this.server.address,
      VIGIL_STORE: join(this.server.folder, 'store.db'),
      VIGIL_LOG_LEVEL: 'error',
      VIGIL_AGENTS: join(packageRoot(), 'test', 'support', 'crash-agent.ts'),
      VIGIL_TEST_TRACE: this.tracePath,
      VIGIL_FREEZE_MS: String(FREEZE_MS),
      VIGIL_LEASE_MS: String(LEASE_MS),
    };
    const main = compiledPath('worker/supervisor-main.js');
    this.supervisors.push(await ready(fork(main, [], { env, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })));
  }

  /** Healthy workers that the server lists, spares loaded, no lease of the past, and never five exits in a minute. */
  private async settle(): Promise<void> {
    for (;;) {
      const leases = await this.store.leases();
      const isWhole = leases.length === this.supervisors.filter(isRunning).length;
      if (isWhole && leases.every(({ worker, takenBy }) => worker?.instanceKeys.length && !takenBy)) break;
      await delay(200);
    }
    await delay(SETTLE_MS);
  }

  private async crash(fault: Fault): Promise<Run> {
    rmSync(this.tracePath, { force: true });
    const session = `crash-${this.turns++}`;
    const sent = await this.client.send(session, { text: 'go' }, { agent: 'crash' });
    while (this.trace().length === 0) await delay(5);
    await delay(Math.random() * (TURN_MS - 300));
    const { pid, supervisor } = await this.runner();
    const atMs = Date.now();
    strike(fault, pid, supervisor);
    const outcome = await sent.outcome({ signal: AbortSignal.timeout(UNFINISHED_MS) }).catch(() => null);
    const next = this.trace().find((one) => one.what === 'call' && one.atMs >= atMs && one.pid !== pid);
    if (fault === 'supervisorFreeze') for (const frozen of [pid, supervisor.pid!]) process.kill(frozen, 'SIGCONT');
    if (fault === 'supervisorKill') await this.addSupervisor();
    const outputs = await this.outputs(`default/${session}`);
    return {
      recoveryMs: next ? next.atMs - atMs : null,
      isFinished: outcome?.outcome === 'completed',
      ...this.judge(outputs),
    };
  }

  /** Who has the turn: the process that did something last. */
  private async runner(): Promise<{ pid: number; supervisor: ChildProcess }> {
    const { pid } = this.trace().at(-1)!;
    const lease = (await this.store.leases()).find(({ worker }) => worker && pidOf(worker.instance) === pid);
    const supervisor = this.supervisors.find((one) => lease && one.pid === pidOf(lease.supervisor));
    if (!supervisor) throw new Error(`no supervisor has the worker ${pid}`);
    return { pid, supervisor };
  }

  private judge(outputs: Output[]): Pick<Run, 'doubledEffects' | 'isGlued' | 'resumes'> {
    const effects = this.trace().filter((one) => one.what === 'effect');
    const [turn] = accumulate(EMPTY_TRANSCRIPT, outputs).turns;
    const attempts = outputs.flatMap((output) => ('try' in output && output.try ? [output.try.attempt] : []));
    return {
      doubledEffects: effects.length - new Set(effects.map((one) => one.id)).size,
      isGlued: !turn || answerText(turn) !== CRASH_TEXT || turn.ended?.text !== CRASH_TEXT,
      resumes: Math.max(0, ...attempts.map((attempt) => attempt - 1)),
    };
  }

  private outputs(sessionId: string): Promise<Output[]> {
    return this.store.readOutputs({ sessionId, afterSeq: 0, limit: 10_000 });
  }

  private trace(): Traced[] {
    return readTrace(this.tracePath);
  }
}

/** Longer than a spare takes to load; no supervisor sees five exits in a minute then. */
const SETTLE_MS = 11_000;

const isRunning = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

function strike(fault: Fault, pid: number, supervisor: ChildProcess): void {
  const signal = fault === 'kill' || fault === 'supervisorKill' ? 'SIGKILL' : 'SIGSTOP';
  if (fault === 'supervisorKill' || fault === 'supervisorFreeze') process.kill(supervisor.pid!, signal);
  process.kill(pid, signal);
}

const pidOf = (name: string): number => Number(name.split('/')[1]);
const recoveries = (runs: Run[]): number[] =>
  runs.flatMap(({ recoveryMs }) => (recoveryMs === null ? [] : [recoveryMs]));

function median(runs: Run[]): number {
  const sorted = recoveries(runs).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
