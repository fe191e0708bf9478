import { Connection } from '@temporalio/client';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ensureSearchAttributes } from './search-attributes.js';

const POLL_MS = 50;
const CALL_LIMIT_MS = 2_000;
const SERVING = 1;

/** Polls until the server answers and its namespace can be used, then makes sure of the search attributes. */
export async function waitUntilServing(address: string, namespace: string, signal: AbortSignal): Promise<void> {
  // A gRPC channel that was refused once waits a second before it tries again; a bare socket does not.
  await repeat(() => accepts(address), signal);
  await repeat(() => isUsable(address, namespace), signal);
  await withConnection(address, (connection) => ensureSearchAttributes(connection, namespace));
}

async function repeat(probe: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  while (!(await probe())) await sleep(POLL_MS, undefined, { signal });
}

function accepts(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`tcp://${address}`);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port), timeout: CALL_LIMIT_MS });
    const answer = (accepted: boolean) => {
      socket.destroy();
      resolve(accepted);
    };
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
    socket.once('timeout', () => answer(false));
  });
}

async function isUsable(address: string, namespace: string): Promise<boolean> {
  try {
    return await withConnection(address, (connection) => answers(connection, namespace));
  } catch {
    // What is refused while the server starts is asked again, within the caller's limit.
    return false;
  }
}

async function answers(connection: Connection, namespace: string): Promise<boolean> {
  const health = await connection.healthService.check({ service: 'temporal.api.workflowservice.v1.WorkflowService' });
  if (health.status !== SERVING) return false;
  // SERVING alone is not enough: a namespace is known to the frontend only a moment later.
  await connection.workflowService.listWorkflowExecutions({ namespace, pageSize: 1 });
  return true;
}

async function withConnection<T>(address: string, ask: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address, connectTimeout: CALL_LIMIT_MS });
  try {
    return await connection.withDeadline(Date.now() + CALL_LIMIT_MS, () => ask(connection));
  } finally {
    await connection.close();
  }
}
