import { fork, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { SessionClient } from '../../client/sessions.js';
import { compiledPath, packageRoot } from '../../config/package-root.js';
import type { Output } from '../../protocol/outputs.js';
import { WORKFLOW_TYPE } from '../../protocol/names.js';
import { reap } from '../../worker/reaper.js';
import { isKnownDead } from '../../worker/process-name.js';
import { openStore } from '../../store/open-store.js';
import { Child } from './child.js';
import { until } from './until.js';
import { vigilCommand, vigilProgram } from './vigil-command.js';

const READY_LIMIT_MS = 30_000;
const END_LIMIT_MS = 16_000;
const COMMAND_LIMIT_MS = 60_000;

/**
 * Vigil as one test file uses it: the shared real server, a task queue, a store and a tenant of its own, real worker processes.
 */
export class Vigil {
  readonly taskQueue = `test-${randomUUID().slice(0, 8)}`;
  /** Session ids of this file begin with it, so that files do not meet on the server. */
  readonly tenant = `t${randomUUID().slice(0, 8)}`;
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'vigil-test-')));
  readonly store = join(this.folder, 'store.db');
  client!: SessionClient;
  temporal!: Client;
  private readonly workers: TestWorker[] = [];

  private constructor(readonly address: string) {}

  /**
   * Registers set-up and tear-down with the calling file; the environment is that of its first worker. `address`: of a server that the
   * file has started by then.
   */
  static inFile(environment: () => NodeJS.ProcessEnv = () => ({}), address = requireAddress()): Vigil {
    const vigil = Vigil.inFileWithoutWorker(address);
    beforeAll(async () => void (await vigil.startWorker(environment())), 60_000);
    return vigil;
  }

  static inFileWithoutWorker(address = requireAddress()): Vigil {
    const vigil = new Vigil(address);
    beforeAll(async () => {
      vigil.temporal = new Client({ connection: await Connection.connect({ address: vigil.address }) });
      vigil.client = await SessionClient.connect(vigil);
    }, 60_000);
    afterAll(() => vigil.close(), 60_000);
    return vigil;
  }

  async startWorker(environment: NodeJS.ProcessEnv = {}): Promise<TestWorker> {
    return this.start(new TestWorker('worker/main.js', this.environment(environment)));
  }

  /** A supervisor with its worker, as `vigil worker` runs them. */
  async startSupervisor(environment: NodeJS.ProcessEnv = {}): Promise<TestWorker> {
    return this.start(new TestWorker('worker/supervisor-main.js', this.environment(environment)));
  }

  /** A worker with room for one activity. */
  async startNarrowWorker(environment: NodeJS.ProcessEnv = {}): Promise<TestWorker> {
    return this.start(new TestWorker('test/support/narrow-worker.ts', this.environment(environment)));
  }

  private environment(more: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
    return { ...this.places, VIGIL_LOG_LEVEL: 'error', VIGIL_MODEL: 'demo', ...more };
  }

  /** Where this file's server, task queue and store are, as environment. */
  get places(): NodeJS.ProcessEnv {
    return { VIGIL_ADDRESS: this.address, VIGIL_TASK_QUEUE: this.taskQueue, VIGIL_STORE: this.store };
  }

  /** A `vigil` command in this file's folder, running. */
  command(args: readonly string[], more: NodeJS.ProcessEnv = {}): Child {
    return vigilCommand(args, { cwd: this.folder, env: { ...process.env, ...this.places, ...more } });
  }

  /** A shell script to which `$0` and `$1` are the `vigil` command, running. */
  shell(script: string): Child {
    return new Child('/bin/sh', ['-c', script, ...vigilProgram()], {
      cwd: this.folder,
      env: { ...process.env, ...this.places },
    });
  }

  /** A `vigil` command that has ended. */
  async run(args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Child> {
    const child = this.command(args, more);
    await child.hasEnded(COMMAND_LIMIT_MS);
    return child;
  }

  private async start(worker: TestWorker): Promise<TestWorker> {
    this.workers.push(worker);
    await worker.isReady();
    return worker;
  }

  /** The worker that was started last. */
  get worker(): TestWorker {
    return this.workers.at(-1)!;
  }

  /** Ends on the server what killed workers were running, as a supervisor does. */
  async reap(): Promise<number> {
    const store = await openStore(this.store);
    try {
      return await reap({ client: this.temporal, store }, isKnownDead);
    } finally {
      await store.close();
    }
  }

  session(name = `s${randomUUID().slice(0, 8)}`): string {
    return `${this.tenant}/${name}`;
  }

  handle(session: string): WorkflowHandle {
    return this.temporal.workflow.getHandle(session);
  }

  /** Sends and waits for the outcome, bounded. */
  async ask(session: string, text: string, more: { id?: string; agent?: string } = {}) {
    const { agent, ...message } = more;
    const sent = await this.client.send(session, { text, ...message }, agent === undefined ? {} : { agent });
    return sent.outcome({ signal: AbortSignal.timeout(60_000) });
  }

  /** A session started as any Temporal tool could, without the client. */
  async signalRaw(session: string, name: string, ...args: unknown[]): Promise<void> {
    await this.temporal.workflow.signalWithStart(WORKFLOW_TYPE, {
      workflowId: session,
      taskQueue: this.taskQueue,
      signal: name,
      signalArgs: args,
    });
  }

  async outputs(session: string): Promise<Output[]> {
    const last = await this.client.lastSeq(session);
    const all: Output[] = [];
    if (last === 0) return all;
    for await (const batch of this.client.outputs(session, { afterSeq: 0 })) {
      all.push(...batch);
      if (all.at(-1)!.seq >= last) break;
    }
    return all;
  }

  /** Waits until an output satisfies the condition, and answers it. */
  async output<Kind extends Output['kind']>(
    session: string,
    kind: Kind,
    holds: (output: Extract<Output, { kind: Kind }>) => boolean = () => true,
  ): Promise<Extract<Output, { kind: Kind }>> {
    const isMeant = (output: Output): output is Extract<Output, { kind: Kind }> =>
      output.kind === kind && holds(output as Extract<Output, { kind: Kind }>);
    return until(`an output ${kind} of ${session}`, async () => (await this.outputs(session)).find(isMeant), 60_000);
  }

  private async close(): Promise<void> {
    // A supervisor that is killed leaves its worker to come to its end alone.
    await Promise.all(this.workers.map((worker) => (worker.isSupervisor ? worker.end() : worker.kill())));
    await this.client.close();
    await this.temporal.connection.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A worker process as `vigil worker` runs it. */
export class TestWorker {
  readonly process: ChildProcess;
  log = '';
  readonly ended: Promise<number | NodeJS.Signals>;
  private hasSaidReady = false;

  constructor(
    private readonly module: string,
    environment: NodeJS.ProcessEnv,
  ) {
    const isSource = module.endsWith('.ts');
    this.process = fork(isSource ? sourceRunner() : compiledPath(module), isSource ? [module] : [], {
      cwd: packageRoot(),
      env: { ...process.env, ...environment },
      execArgv: [],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.log += text));
    }
    this.process.on('message', (message: { kind?: string }) => {
      if (message.kind === 'ready') this.hasSaidReady = true;
      if (message.kind === 'prepared') this.process.send({ kind: 'serve', leaseId: null });
    });
    this.ended = new Promise((resolve) => this.process.once('exit', (code, signal) => resolve(code ?? signal ?? 1)));
  }

  async isReady(): Promise<void> {
    const check = () => {
      if (this.process.exitCode !== null)
        throw new Error(`the worker ended with ${this.process.exitCode}: ${this.log}`);
      return this.hasSaidReady;
    };
    await until('a worker to be ready', check, READY_LIMIT_MS);
  }

  get isSupervisor(): boolean {
    return this.module === 'worker/supervisor-main.js';
  }

  get pid(): number {
    return this.process.pid!;
  }

  /** In order where it can be, so that nothing is left behind. */
  async end(): Promise<void> {
    this.process.kill('SIGCONT');
    this.process.kill('SIGTERM');
    const late = setTimeout(() => this.process.kill('SIGKILL'), END_LIMIT_MS);
    await this.ended;
    clearTimeout(late);
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | NodeJS.Signals> {
    this.process.kill(signal);
    return this.ended;
  }
}

/** Runs a TypeScript file as it stands. */
const sourceRunner = (): string => join(packageRoot(), 'node_modules', 'jiti', 'lib', 'jiti-cli.mjs');

function requireAddress(): string {
  const address = process.env['VIGIL_TEST_ADDRESS'];
  if (!address) throw new Error('no test server: run these tests in the jest project "server"');
  return address;
}
