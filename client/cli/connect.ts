import { findDataDir, readInstance } from '../../config/instance.js';
import { loadConfig, type Config } from '../../config/load-config.js';
import { SessionClient } from '../sessions.js';

/** Where the commands find their server and store: flags, then environment, then the instance that runs in this folder, then defaults. */
export interface ConnectionFlags {
  address?: string;
  namespace?: string;
  store?: string;
}

export async function connect(flags: ConnectionFlags): Promise<SessionClient> {
  return SessionClient.connect(readConfig(flags));
}

export function readConfig(flags: ConnectionFlags): Config {
  const instance = readInstance(findDataDir(process.cwd()));
  const found = instance
    ? {
        VIGIL_ADDRESS: instance.address,
        VIGIL_NAMESPACE: instance.namespace,
        VIGIL_TASK_QUEUE: instance.taskQueue,
        VIGIL_STORE: instance.storePath,
      }
    : {};
  const given = Object.fromEntries(
    Object.entries({ VIGIL_ADDRESS: flags.address, VIGIL_NAMESPACE: flags.namespace, VIGIL_STORE: flags.store }).filter(
      ([, value]) => value !== undefined,
    ),
  );
  return loadConfig({ ...found, ...process.env, ...given }, process.cwd());
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
