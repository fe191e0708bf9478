import { type Fixture, LLMock } from '@copilotkit/aimock';
import type { LanguageModelV3 } from '@ai-sdk/provider';
import type { Server } from 'node:http';
import { createModel, type ProviderSettings } from '../../activities/models.js';
import { FaultProxy } from './fault-proxy.js';

export const PROVIDERS = ['openai-compatible', 'openai', 'anthropic'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** A provider over real HTTP: a third party's imitation of it, behind a proxy that makes the faults. */
export interface TestProvider {
  name: ProviderName;
  proxy: FaultProxy;
  model: LanguageModelV3;
}

export class TestProviders {
  private constructor(
    private readonly mock: LLMock,
    private readonly proxies: Record<ProviderName, FaultProxy>,
  ) {}

  static async start(): Promise<TestProviders> {
    const mock = await LLMock.create({ port: 0, logLevel: 'silent' });
    const [compatible, openai, anthropic] = await Promise.all(PROVIDERS.map(() => FaultProxy.start(mock.url)));
    return new TestProviders(mock, { 'openai-compatible': compatible!, openai: openai!, anthropic: anthropic! });
  }

  get(name: ProviderName, settings: ProviderSettings = {}): TestProvider {
    const proxy = this.proxies[name];
    return { name, proxy, model: createModel(SPECS[name](proxy.url), { ...settingsOf(proxy.url), ...settings }) };
  }

  /** What the provider says, to whatever it is asked. */
  says(response: Fixture['response'], options: Omit<Fixture, 'match' | 'response'> = {}): void {
    this.mock.clearFixtures();
    this.mock.addFixture({ match: {}, response, chunkSize: 6, ...options });
  }

  /** What the provider says to what it is asked; the first that matches. */
  answers(fixtures: Fixture[]): void {
    this.mock.clearFixtures();
    for (const fixture of fixtures) this.mock.addFixture(fixture);
  }

  reset(): void {
    this.mock.clearFixtures();
    this.mock.clearRequests();
    for (const proxy of Object.values(this.proxies)) proxy.reset();
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.proxies).map((proxy) => proxy.stop()));
    // Its own stop waits for connections that a client has broken off; it does not show its server, but has it.
    (this.mock as unknown as { serverInstance: { server: Server } }).serverInstance.server.closeAllConnections();
    await this.mock.stop();
  }
}

const SPECS: Record<ProviderName, (url: string) => string> = {
  'openai-compatible': (url) => `${url}/v1#o4-mini`,
  openai: () => 'openai:gpt-5',
  anthropic: () => 'anthropic:claude-sonnet-4-5',
};

/** Keys that a leak would show. */
export const KEYS = {
  openai: 'sk-openai-PLANTED-1111',
  anthropic: 'sk-ant-PLANTED-2222',
  compatible: 'key-PLANTED-3333',
};

function settingsOf(url: string): ProviderSettings {
  return {
    openaiApiKey: KEYS.openai,
    openaiBaseUrl: `${url}/v1`,
    anthropicApiKey: KEYS.anthropic,
    anthropicBaseUrl: `${url}/v1`,
    compatibleApiKey: KEYS.compatible,
  };
}
