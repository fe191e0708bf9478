import { Connection } from '@temporalio/client';
import { messageOf } from '../activities/classify-error.js';
import type { Config } from '../config/load-config.js';
import { requireSearchAttributes } from './require-search-attributes.js';
import { StartError } from './start-error.js';

const CONNECT_LIMIT_MS = 5_000;

/** @throws StartError when the server cannot be reached or lacks what sessions need, with the remedy */
export async function checkServer(config: Config): Promise<void> {
  const { address, namespace } = config;
  const connection = await Connection.connect({ address, connectTimeout: CONNECT_LIMIT_MS }).catch((error: unknown) => {
    throw new StartError(
      `cannot reach a Temporal server at ${address} (${messageOf(error)}); start one with "npm start", or name yours with VIGIL_ADDRESS`,
    );
  });
  try {
    await requireSearchAttributes(connection, namespace);
  } finally {
    await connection.close();
  }
}
