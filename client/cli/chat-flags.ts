import type { ConnectionFlags } from './connect.js';

export interface ChatFlags extends ConnectionFlags {
  message?: string;
  id?: string;
  file?: string[];
  agent?: string;
  mode?: 'steer' | 'queue';
  silent?: boolean;
  channel?: string;
  json?: boolean;
  /** Seconds. */
  timeout?: number;
}

export const agentOf = ({ agent }: ChatFlags) => (agent === undefined ? {} : { agent });
