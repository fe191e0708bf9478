import { type NativeConnection, Worker } from '@temporalio/worker';
import type { Channel } from '../activities/channels.js';
import { createDeliver } from '../activities/deliver.js';
import { DeliveryLoop } from '../activities/delivery-loop.js';
import { createWebhook } from '../activities/webhook.js';
import type { Config } from '../config/load-config.js';
import { channelQueue } from '../protocol/names.js';
import type { SessionStore } from '../store/session-store.js';
import { StartError } from './start-error.js';

/** Handing over takes a moment, and a session does not wait for it. */
const SLOTS = 5;

/** One channel that this process serves: takes deliveries over, and makes them. */
export interface ChannelWorker {
  readonly worker: Worker;
  readonly loop: DeliveryLoop;
}

/**
 * A worker for each declared channel, on the channel's own task queue. None takes anything before it runs.
 * @throws StartError that names every channel whose secret is missing or is none
 */
export async function createChannelWorkers(
  config: Pick<Config, 'channels' | 'channelSecrets' | 'namespace'>,
  parts: { store: SessionStore; connection: NativeConnection; instance: string },
): Promise<ChannelWorker[]> {
  const { store, connection, instance } = parts;
  const channels = createChannels(config, store);
  return Promise.all(
    [...channels].map(async ([name, channel]) => {
      const loop = new DeliveryLoop({ name, channel, store });
      const worker = await Worker.create({
        connection,
        // The same as the session worker's, so that what this process had is known by it when it is lost.
        identity: instance,
        namespace: config.namespace,
        taskQueue: channelQueue(name),
        activities: { deliver: createDeliver(store, () => loop.nudge()) },
        maxConcurrentActivityTaskExecutions: SLOTS,
        maxConcurrentActivityTaskPolls: 1,
        shutdownForceTime: 1_000,
      });
      return { worker, loop };
    }),
  );
}

function createChannels(
  { channels, channelSecrets }: Pick<Config, 'channels' | 'channelSecrets'>,
  store: SessionStore,
): Map<string, Channel> {
  const created = new Map<string, Channel>();
  const problems: string[] = [];
  for (const [name, declared] of Object.entries(channels)) {
    const secret = channelSecrets[name];
    try {
      if (secret === undefined) throw new Error('is not set; it must hold the signing secret');
      created.set(name, createWebhook({ ...declared, secret }, store));
    } catch (error) {
      problems.push(`channel "${name}": the variable ${declared.secretVariable} ${(error as Error).message}`);
    }
  }
  if (problems.length > 0) throw new StartError(problems.join('\n'));
  return created;
}
