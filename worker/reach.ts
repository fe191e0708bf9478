import { Client, Connection } from '@temporalio/client';
import { openStore } from '../store/open-store.js';
import type { SessionStore } from '../store/session-store.js';

export interface Place {
  readonly address: string;
  readonly namespace: string;
  readonly store: string;
}

/** What a supervisor needs to act for workers: the server and the store, open for as long as it lives. */
export interface Reach {
  readonly client: Client;
  readonly store: SessionStore;
  close(): Promise<void>;
}

export async function openReach({ address, namespace, store: location }: Place): Promise<Reach> {
  const store = await openStore(location);
  try {
    const connection = await Connection.connect({ address });
    return {
      client: new Client({ connection, namespace }),
      store,
      async close() {
        await connection.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}
