import { Connection } from '@temporalio/client';
import { fork, type ChildProcess } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compiledPath } from '../config/package-root.js';
import { findTemporal } from '../worker/dev-server/find-temporal.js';
import { freePort } from '../worker/dev-server/ports.js';
import { ensureSearchAttributes } from '../worker/dev-server/search-attributes.js';
import { startDevServer, type DevServer } from '../worker/dev-server/start-server.js';
import { searchMachine } from '../worker/dev-server/temporal-sources.js';

export const say = (line: string): void => void process.stderr.write(`${line}\n`);

/** A fresh server on a file, as `npm start` runs it. */
export async function startServer(): Promise<DevServer & { folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'vigil-bench-'));
  const { path } = await findTemporal(searchMachine({ env: process.env, report: () => undefined }), () => undefined);
  const server = await startDevServer({
    temporalPath: path,
    port: await freePort(),
    uiPort: null,
    dbPath: join(folder, 'temporal.db'),
    logPath: join(folder, 'temporal.log'),
    report: say,
  });
  const connection = await Connection.connect({ address: server.address });
  await ensureSearchAttributes(connection, server.namespace);
  await connection.close();
  return { ...server, folder };
}

/** Vigil's own worker process. */
export function startVigilWorker(
  address: string,
  store: string,
  environment: NodeJS.ProcessEnv = {},
): Promise<ChildProcess> {
  const env = { ...process.env, VIGIL_ADDRESS: address, VIGIL_STORE: store, VIGIL_LOG_LEVEL: 'error', ...environment };
  return ready(fork(compiledPath('worker/main.js'), [], { env, stdio: ['ignore', 2, 2, 'ipc'] }));
}

/** Resolves with the child when it says that it takes work. */
export function ready(child: ChildProcess): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    child.on('message', (message: { kind?: string }) => {
      if (message.kind === 'ready') resolve(child);
      if (message.kind === 'prepared') child.send({ kind: 'serve', leaseId: null });
    });
    child.on('exit', (code) => reject(new Error(`a worker ended with ${code} before it was ready`)));
  });
}
