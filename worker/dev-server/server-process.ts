import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { compiledPath } from '../../config/package-root.js';
import type { LeashReport, LeashRequest } from './leash-messages.js';

/** The Temporal server's process, held through its leash from start to end. */
export class ServerProcess {
  /** Settles, with the reason, once the server has ended for whatever cause; never rejects. */
  readonly exited: Promise<string>;
  readonly #leash: ChildProcess;
  #pid: number | undefined;

  private constructor(leash: ChildProcess) {
    this.#leash = leash;
    this.exited = this.#watch();
  }

  /** Starts `program`; what it prints goes to the open file `logFd`. */
  static async start(program: string, args: readonly string[], logFd: number): Promise<ServerProcess> {
    const leash = fork(compiledPath('worker/dev-server/leash.js'), [program, ...args], {
      detached: true,
      execArgv: [],
      stdio: ['ignore', logFd, logFd, 'ipc'],
    });
    const server = new ServerProcess(leash);
    await Promise.race([once(leash, 'message'), server.exited]);
    return server;
  }

  get pid(): number {
    return this.#pid ?? 0;
  }

  /** Asks the server to stop and waits for its end; the leash kills it when it takes too long. */
  async stop(): Promise<void> {
    this.#ask({ kind: 'stop' });
    await this.exited;
  }

  kill(): void {
    this.#ask({ kind: 'kill' });
  }

  #ask(request: LeashRequest): void {
    if (this.#leash.connected) this.#leash.send(request, () => undefined);
  }

  #watch(): Promise<string> {
    return new Promise((resolve) => {
      this.#leash.on('message', (report: LeashReport) => {
        if (report.kind === 'started') this.#pid = report.pid;
        else resolve(describe(report));
      });
      this.#leash.once('error', (error) => resolve(error.message));
      // Everything the leash had to say arrives before this: it was killed, and can no longer stop the server.
      this.#leash.once('disconnect', () => {
        if (this.#pid !== undefined) killOrphan(this.#pid);
        resolve('its leash was killed');
      });
    });
  }
}

function describe(report: Exclude<LeashReport, { kind: 'started' }>): string {
  if (report.kind === 'failed') return report.reason;
  return report.signal === null ? `exit code ${report.code}` : `signal ${report.signal}`;
}

function killOrphan(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended together with its leash.
  }
}
