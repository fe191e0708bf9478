import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { SessionClient } from '../client/sessions.js';
import { packageRoot } from '../config/package-root.js';
import type { Output } from '../protocol/outputs.js';
import type { Script, SeenRequest } from '../test/support/fault-proxy.js';
import { KEYS, TestProviders } from '../test/support/provider.js';
import { ANSWERS, type Asked, CONTENT, type SceneProvider, stallFixtures } from '../test/support/stall-scenes.js';
import { UnreachableProvider } from '../test/support/unreachable-provider.js';
import { startServer, startVigilWorker } from './servers.js';

/** Far beyond what any turn here may take. */
const LIMIT_MS = 420_000;

type TurnEnded = Extract<Output, { kind: 'TurnEnded' }>;

export interface TurnOptions {
  provider: SceneProvider;
  asked: Asked;
  /** What happens to the calls of the turn; those that follow are answered. */
  scripts: Script[];
  gapMs: number;
  /** On the worker that is there to be blocked and frozen. */
  isApart?: boolean;
}

/** A turn that is over, as its provider and its journal saw it. */
export interface SeenTurn {
  requests: SeenRequest[];
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
    const usual = await staffOf(place, 'usual', environment);
    return new StallScene(server, providers, unreachable, usual, await staffOf(place, 'apart', environment));
  }

  async end(): Promise<void> {
    await Promise.all([this.usual, this.apart].map(({ client }) => client.close()));
    for (const { worker } of [this.usual, this.apart]) worker.kill('SIGKILL');
    await Promise.all([this.providers.stop(), this.unreachable.stop()]);
    await this.server.stop();
  }

  async turn({ provider, asked, scripts, gapMs, isApart = false }: TurnOptions): Promise<SeenTurn> {
    const { proxy } = this.providers.get(provider);
    const { client } = isApart ? this.apart : this.usual;
    const session = this.session();
    const marker = `${session}.`;
    proxy.nextOf(marker, ...scripts);
    await client.send(session, { text: `${asked} ${marker}` }, { agent: `${provider}-${gapMs}` });
    const ended = await endOf(client, session).catch(() => null);
    return { requests: proxy.requestsOf(marker), ended, isWhole: ended?.text === ANSWERS[asked] };
  }

  /** Begins a turn whose provider cannot be reached; resolves with what stops it. */
  async unreachableTurn(gapMs: number): Promise<() => Promise<unknown>> {
    const session = this.session();
    await this.usual.client.send(session, { text: 'plain' }, { agent: `unreachable-${gapMs}` });
    return () => this.usual.client.stop(session);
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
export function tokensOf({ requests, ended }: SeenTurn) {
  const tokens = ({ passed }: SeenRequest) => passed.filter((event) => CONTENT.test(event)).length;
  const sum = (of: SeenRequest[]) => of.reduce((total, request) => total + tokens(request), 0);
  const { discardedAttempts, discardedEstimatedInputTokens, discardedReceivedChars } = (ended ?? {}) as Discards;
  return {
    generated: sum(requests),
    kept: sum(requests.filter(({ abortedAtMs }) => abortedAtMs === null)),
    reported: {
      attempts: discardedAttempts ?? null,
      estimatedInputTokens: discardedEstimatedInputTokens ?? null,
      receivedChars: discardedReceivedChars ?? null,
    },
  };
}

/** Absent when nothing was discarded. */
interface Discards {
  discardedAttempts?: number;
  discardedEstimatedInputTokens?: number | null;
  discardedReceivedChars?: number;
}
