import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { findTemporal } from '../../worker/dev-server/find-temporal.js';
import { freePort } from '../../worker/dev-server/ports.js';
import { ensureSearchAttributes } from '../../worker/dev-server/search-attributes.js';
import { startDevServer, type DevServer } from '../../worker/dev-server/start-server.js';
import { searchMachine } from '../../worker/dev-server/temporal-sources.js';

/** Where tests find the server that this file started. */
export const ADDRESS_VARIABLE = 'VIGIL_TEST_ADDRESS';

export const running: { server?: DevServer } = ((globalThis as { vigilTest?: { server?: DevServer } }).vigilTest ??= {});

/** Starts one real Temporal server for all tests of the project `server`; each test uses a task queue and a store of its own. */
export default async function startServer(): Promise<void> {
  const report = (line: string) => void process.stderr.write(`${line}\n`);
  const folder = mkdtempSync(join(tmpdir(), 'vigil-test-server-'));
  const { path } = await findTemporal(searchMachine({ env: process.env, report }), report);
  running.server = await startDevServer({
    temporalPath: path,
    port: await freePort(),
    uiPort: null,
    dbPath: join(folder, 'temporal.db'),
    logPath: join(folder, 'temporal.log'),
    report,
  });
  const connection = await Connection.connect({ address: running.server.address });
  await ensureSearchAttributes(connection, running.server.namespace);
  await connection.close();
  process.env[ADDRESS_VARIABLE] = running.server.address;
}
