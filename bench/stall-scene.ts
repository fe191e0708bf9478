import { Client, Connection } from '@temporalio/client';
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { SessionClient } from '../client/sessions.js';
import { packageRoot } from '../config/package-root.js';
import type { Output } from '../protocol/outputs.js';
import { passed, type Script, type SeenRequest } from '../test/support/fault-proxy.js';
import { KEYS, TestProviders } from '../test/support/provider.js';
import { ANSWERS, type Asked, CONTENT, type SceneProvider, stallFixtures } from '../test/support/stall-scenes.js';
import { until } from '../test/support/until.js';
import { UnreachableProvider } from '../test/support/unreachable-provider.js';
import { startServer, startVigilWorker } from './servers.js';

/** Far beyond what any turn here may take. */
const LIMIT_MS = 420_000;
/** The server schedules the second try of a call so long after it gave up the first (`workflows/activity-proxies.ts`). */
const FIRST_RETRY_MS = 50;

type TurnEnded = Extract<Output, { kind: 'TurnEnded' }>;

export interface TurnOptions {
  provider: SceneProvider;
  asked: Asked;
  /** What happens to the calls of the turn; those that follow are answered. */
  scripts: Script[];
  gapMs: number;
  /** True when the last of the scripts is a silence. */
  goesSilent?: boolean;
  /** On the worker that is there to be blocked and frozen. */
  isApart?: boolean;
}

/** A turn that is over, as its provider and its journal saw it. */
export interface SeenTurn {
  requests: SeenRequest[];
  /** When the server gave up the try of the last script; `null` when it did not, or was not asked. */
  givenUpAtMs: number | null;
  /** `null` when it did not end in time. */
  ended: TurnEnded | null;
  /** True when it said exactly what the provider said in calls that came to their end. */
  isWhole: boolean;
}

/** A server, providers with faults, and two workers: one for everything, and one that may be blocked. */
export class StallScene {
  private sessions = 0;

  private constructor(
    private readonly server: Awaited<ReturnType<typeof startServer>>,
    private readonly providers: TestProviders,
    readonly unreachable: UnreachableProvider,
    private readonly temporal: Client,
    private readonly usual: Staff,
    private readonly apart: Staff,
  ) {}

  static async set(gapsMs: number[]): Promise<StallScene> {
    const [server, providers, unreachable] = await Promise.all([
      startServer(),
      TestProviders.start(),
      UnreachableProvider.start(),
    ]);
    providers.answers(stallFixtures());
    const environment = {
      VIGIL_AGENTS: join(packageRoot(), 'test', 'support', 'stall-agents.ts'),
      VIGIL_TEST_GAPS_MS: gapsMs.join(','),
      VIGIL_TEST_COMPATIBLE: `${providers.get('openai-compatible').proxy.url}/v1#o4-mini`,
      VIGIL_TEST_UNREACHABLE: `${unreachable.url}/v1#none`,
      ANTHROPIC_BASE_URL: `${providers.get('anthropic').proxy.url}/v1`,
      ANTHROPIC_API_KEY: KEYS.anthropic,
    };
    const place = { address: server.address, store: join(server.folder, 'store.db') };
    const temporal = new Client({ connection: await Connection.connect({ address: server.address }) });
    const usual = await staffOf(place, 'usual', environment);
    const apart = await staffOf(place, 'apart', environment);
    return new StallScene(server, providers, unreachable, temporal, usual, apart);
  }

  async end(): Promise<void> {
    await Promise.all([this.usual, this.apart].map(({ client }) => client.close()));
    await this.temporal.connection.close();
    for (const { worker } of [this.usual, this.apart]) worker.kill('SIGKILL');
    await Promise.all([this.providers.stop(), this.unreachable.stop()]);
    await this.server.stop();
  }

  async turn({ provider, asked, scripts, gapMs, goesSilent = false, isApart = false }: TurnOptions): Promise<SeenTurn> {
    const { proxy } = this.providers.get(provider);
    const { client } = isApart ? this.apart : this.usual;
    const session = this.session();
    const marker = `${session}.`;
    let givenUpAtMs: number | null = null;
    // The next try waits until the server has told when it gave up the one before: later nobody knows.
    const afterwards: Script = async (exchange) => {
      givenUpAtMs = await this.givenUpAtMs(session);
      await passed(exchange);
    };
    proxy.nextOf(marker, ...scripts, ...(goesSilent ? [afterwards] : []));
    await client.send(session, { text: `${asked} ${marker}` }, { agent: `${provider}-${gapMs}` });
    const ended = await endOf(client, session).catch(() => null);
    return { requests: proxy.requestsOf(marker), givenUpAtMs, ended, isWhole: ended?.text === ANSWERS[asked] };
  }

  /** A turn whose provider cannot be reached: when it was connected to, and when the first try was given up. It is stopped then. */
  async unreachableTurn(gapMs: number, limitMs: number) {
    const session = this.session();
    const { connectedAtMs } = this.unreachable;
    const before = connectedAtMs.length;
    await this.usual.client.send(session, { text: 'plain' }, { agent: `unreachable-${gapMs}` });
    const isTriedAgain = () => connectedAtMs.length >= before + 2;
    await until('the next connection', isTriedAgain, limitMs).catch(() => undefined);
    const givenUpAtMs = await this.givenUpAtMs(session);
    await this.usual.client.stop(session);
    return { connectedAtMs: connectedAtMs.slice(before), givenUpAtMs };
  }

  /** By the server's clock, which is this machine's; asked while the second try runs. */
  private async givenUpAtMs(session: string): Promise<number | null> {
    const { raw } = await this.temporal.workflow.getHandle(`default/${session}`).describe();
    const { attempt, scheduledTime } = raw.pendingActivities?.[0] ?? {};
    if (attempt !== 2 || !scheduledTime) return null;
    return Number(scheduledTime.seconds) * 1_000 + Math.round((scheduledTime.nanos ?? 0) / 1e6) - FIRST_RETRY_MS;
  }

  signalApart(signal: NodeJS.Signals): void {
    this.apart.worker.kill(signal);
  }

  private session(): string {
    return `stall-${this.sessions++}`;
  }
}

/** A worker on a task queue of its own, and its client. */
interface Staff {
  worker: ChildProcess;
  client: SessionClient;
}

async function staffOf(
  { address, store }: { address: string; store: string },
  taskQueue: string,
  environment: NodeJS.ProcessEnv,
): Promise<Staff> {
  const worker = await startVigilWorker(address, store, { ...environment, VIGIL_TASK_QUEUE: taskQueue });
  return { worker, client: await SessionClient.connect({ address, store, taskQueue }) };
}

async function endOf(client: SessionClient, session: string): Promise<TurnEnded> {
  const signal = AbortSignal.timeout(LIMIT_MS);
  for await (const batch of client.outputs(session, { afterSeq: 0, signal })) {
    for (const output of batch) if (output.kind === 'TurnEnded') return output;
  }
  throw new Error(`the journal of ${session} ended`);
}

/** Tokens that the provider sent, those of calls that came to their end, and what the turn reports of the others. */
export function tokensOf({ requests, ended }: SeenTurn, dead: SeenRequest) {
  const tokens = ({ passed: events }: SeenRequest) => events.filter((event) => CONTENT.test(event)).length;
  const generated = requests.reduce((total, request) => total + tokens(request), 0);
  const { discardedAttempts, discardedEstimatedInputTokens, discardedReceivedChars } = (ended ?? {}) as Discards;
  const reported = {
    attempts: discardedAttempts ?? null,
    estimatedInputTokens: discardedEstimatedInputTokens ?? null,
    receivedChars: discardedReceivedChars ?? null,
  };
  return { generated, kept: generated - tokens(dead), reported };
}

/** Absent when nothing was discarded. */
interface Discards {
  discardedAttempts?: number;
  discardedEstimatedInputTokens?: number | null;
  discardedReceivedChars?: number;
}
