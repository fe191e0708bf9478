import type { LanguageModelV3 } from '@ai-sdk/provider';
import type { SessionStore } from '../store/session-store.js';
import type { AgentDefinition } from './agent.js';
import type { Agent } from './agents.js';

/** What the worker gives its activities. */
export interface Dependencies {
  store: SessionStore;
  agents: ReadonlyMap<string, Agent>;
  /** The model at a place of the agent's chain. @throws ModelSpecError when it cannot be used. */
  modelOf(definition: AgentDefinition, link: number): LanguageModelV3;
  /** Channels that the configuration declares. */
  channels: ReadonlySet<string>;
  /** IANA zone of wakes that name none. */
  defaultZone: string;
  /** Names this worker process in the registry of running tries. */
  workerInstance: string;
}
