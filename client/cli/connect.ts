import { loadConfig, type Config } from '../../config/load-config.js';
import type { ConfigSources } from '../../config/layers.js';
import { readSources } from '../../config/read-sources.js';
import { SessionClient } from '../sessions.js';

/** Where the commands find their server and store, as far as flags say it. */
export interface ConnectionFlags {
  config?: string;
  address?: string;
  namespace?: string;
  taskQueue?: string;
  store?: string;
}

export async function connect(flags: ConnectionFlags): Promise<SessionClient> {
  return SessionClient.connect(readConfig(flags));
}

export function readConfig(flags: ConnectionFlags): Config {
  return loadConfig(sourcesOf(flags));
}

export function sourcesOf({ config, address, namespace, taskQueue, store }: ConnectionFlags): ConfigSources {
  const flags = { config, address, namespace, taskQueue, store };
  return readSources({ flags, environment: process.env, cwd: process.cwd() });
}

/** Runs a command with a connection that is closed whatever happens. */
export async function withClient<Result>(
  flags: ConnectionFlags,
  use: (client: SessionClient) => Promise<Result>,
): Promise<Result> {
  const client = await connect(flags);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}
