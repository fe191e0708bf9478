/**
 * Set-up of the jest project `server`: one real Temporal server for all its tests. Plain JavaScript over the build, because jest loads
 * a global set-up without the projects' module settings.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { findTemporal } from '../../dist/worker/dev-server/find-temporal.js';
import { freePort } from '../../dist/worker/dev-server/ports.js';
import { ensureSearchAttributes } from '../../dist/worker/dev-server/search-attributes.js';
import { startDevServer } from '../../dist/worker/dev-server/start-server.js';
import { searchMachine } from '../../dist/worker/dev-server/temporal-sources.js';

export default async function startServer() {
  const report = (line) => void process.stderr.write(`${line}\n`);
  const folder = mkdtempSync(join(tmpdir(), 'vigil-test-server-'));
  const { path } = await findTemporal(searchMachine({ env: process.env, report }), report);
  const server = await startDevServer({
    temporalPath: path,
    port: await freePort(),
    uiPort: null,
    dbPath: join(folder, 'temporal.db'),
    logPath: join(folder, 'temporal.log'),
    report,
  });
  const connection = await Connection.connect({ address: server.address });
  await ensureSearchAttributes(connection, server.namespace);
  await connection.close();
  process.env.VIGIL_TEST_ADDRESS = server.address;
  globalThis.vigilTestServer = server;
}
