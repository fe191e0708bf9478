import { Client, Connection } from '@temporalio/client';
import { existsSync } from 'node:fs';
import { SEARCH_ATTRIBUTES, WORKFLOW_TYPE } from '../protocol/names.js';
import { openStore } from '../store/open-store.js';
import type { Lease, SessionStore } from '../store/session-store.js';

/** `problem`: sessions do not run, or not for sure. `warning`: they do, and something takes longer than it must. */
export interface Finding {
  readonly about: 'server' | 'setting' | 'store' | 'worker' | 'lease' | 'session';
  readonly kind: 'ok' | 'warning' | 'problem';
  readonly message: string;
  /** Seconds that a recovery takes longer because of it. */
  readonly costSeconds?: number;
}

export interface DiagnosedPlace {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  readonly store: string;
}

/** What the server says of a namespace; a field is absent where the server does not know of it. */
export interface Capabilities {
  workerPollCompleteOnShutdown?: boolean | null;
  workerCommands?: boolean | null;
  workerHeartbeats?: boolean | null;
  reportedProblemsSearchAttribute?: boolean | null;
}

const CONNECT_LIMIT_MS = 5_000;
const SHOWN_AT_MOST = 20;
/** A worker tells of itself each second. */
const WORKER_SILENT_MS = 5_000;

/** Looks at everything that sessions need, and never changes anything. */
export async function diagnose(place: DiagnosedPlace): Promise<Finding[]> {
  const ofServer = await diagnoseServer(place).catch((error: unknown): Finding[] => [
    finding('server', 'problem', `no Temporal server answers at ${place.address}: ${(error as Error).message}`),
  ]);
  const ofStore = await diagnoseStore(place.store).catch((error: unknown): Finding[] => [
    finding('store', 'problem', (error as Error).message),
  ]);
  return [...ofServer, ...ofStore];
}

async function diagnoseServer({ address, namespace, taskQueue }: DiagnosedPlace): Promise<Finding[]> {
  const connection = await Connection.connect({ address, connectTimeout: CONNECT_LIMIT_MS });
  try {
    const client = new Client({ connection, namespace });
    const { serverVersion } = await connection.workflowService.getSystemInfo({});
    const { namespaceInfo } = await connection.workflowService.describeNamespace({ namespace });
    const capabilities = namespaceInfo?.capabilities ?? {};
    return [
      finding('server', 'ok', `Temporal ${serverVersion} at ${address}, namespace ${namespace}`),
      ...findingsOf(capabilities),
      await diagnoseSearchAttributes(connection, namespace),
      ...(capabilities.workerHeartbeats ? await diagnoseWorkers(client, taskQueue) : []),
      ...(capabilities.reportedProblemsSearchAttribute ? await diagnoseSessions(client) : []),
    ];
  } finally {
    await connection.close();
  }
}

/** The settings that a server tells of; `docker-compose.yml` and the embedded server make them all. */
export function findingsOf(capabilities: Capabilities): Finding[] {
  return [
    setting(
      capabilities.workerPollCompleteOnShutdown,
      'frontend.enableCancelWorkerPollsOnShutdown',
      "a frozen worker keeps swallowing its sessions' tasks until each times out",
      2,
    ),
    setting(
      capabilities.workerCommands,
      'frontend.WorkerCommandsEnabled (with system.enableCancelActivityWorkerCommand)',
      'a cancel reaches a silent call only with its next heartbeat',
      1,
    ),
    setting(
      capabilities.workerHeartbeats,
      'frontend.WorkerHeartbeatsEnabled',
      'workers are not listed, so a frozen one cannot be fenced',
      2,
    ),
  ];
}

function setting(isOn: boolean | null | undefined, name: string, cost: string, costSeconds: number): Finding {
  if (isOn) return finding('setting', 'ok', `${name} is on`);
  return { ...finding('setting', 'warning', `${name} is off: ${cost} (about ${costSeconds} s)`), costSeconds };
}

async function diagnoseSearchAttributes(connection: Connection, namespace: string): Promise<Finding> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const missing = Object.values(SEARCH_ATTRIBUTES).filter((name) => customAttributes[name] === undefined);
  if (missing.length === 0) return finding('server', 'ok', 'the search attributes are registered');
  const flags = missing.map((name) => `--name ${name} --type Keyword`).join(' ');
  return finding(
    'server',
    'problem',
    `no worker starts without the search attributes ${missing.join(', ')}; register them with: temporal operator search-attribute create --namespace ${namespace} ${flags}`,
  );
}

async function diagnoseWorkers(client: Client, taskQueue: string): Promise<Finding[]> {
  const query = `TaskQueue = '${taskQueue.replaceAll("'", "''")}'`;
  const { namespace } = client.options;
  const { workersInfo } = await client.workflowService.listWorkers({ namespace, pageSize: 1_000, query });
  const alive = (workersInfo ?? []).flatMap(({ workerHeartbeat }) => {
    const seconds = Number(workerHeartbeat?.heartbeatTime?.seconds ?? 0);
    // A spare worker is listed too, and polls for nothing.
    const isServing = (workerHeartbeat?.workflowPollerInfo?.currentPollers ?? 0) > 0;
    return isServing && Date.now() - seconds * 1_000 < WORKER_SILENT_MS ? [workerHeartbeat?.workerIdentity ?? ''] : [];
  });
  if (alive.length === 0) {
    return [finding('worker', 'problem', `no worker serves the task queue ${taskQueue}; start one with: vigil worker`)];
  }
  return alive.slice(0, SHOWN_AT_MOST).map((identity) => finding('worker', 'ok', `${identity} serves ${taskQueue}`));
}

/** Sessions that stand still because their workflow tasks fail, which no outcome can tell of. */
async function diagnoseSessions(client: Client): Promise<Finding[]> {
  const query = `WorkflowType = '${WORKFLOW_TYPE}' AND ExecutionStatus = 'Running' AND TemporalReportedProblems IS NOT NULL`;
  const failing: Finding[] = [];
  for await (const { workflowId } of client.workflow.list({ query })) {
    failing.push(finding('session', 'problem', `the workflow tasks of ${workflowId} fail; a worker's log says why`));
    if (failing.length >= SHOWN_AT_MOST) break;
  }
  return failing.length > 0 ? failing : [finding('session', 'ok', "no session's workflow tasks fail")];
}

async function diagnoseStore(location: string): Promise<Finding[]> {
  const isPath = !/^[a-z]+:/.test(location);
  if (isPath && !existsSync(location))
    return [finding('store', 'problem', `the session store ${location} does not exist`)];
  const store = await openStore(location);
  try {
    const version = await store.schemaVersion();
    return [finding('store', 'ok', `${location}, schema ${version}`), ...(await diagnoseLeases(store))];
  } finally {
    await store.close();
  }
}

async function diagnoseLeases(store: SessionStore): Promise<Finding[]> {
  const leases = await store.leases();
  if (leases.length > 0) return leases.map(findingOfLease);
  return [
    finding('lease', 'warning', 'no supervisor holds a lease: the turns of a lost worker wait for their stall budget'),
  ];
}

function findingOfLease({ supervisor, worker, takenBy }: Lease): Finding {
  const who = `supervisor ${supervisor}, worker ${worker?.instance ?? 'none'}`;
  if (takenBy === null) return finding('lease', 'ok', who);
  return finding('lease', 'warning', `${who}: taken over, and held down until it is known to be dead`);
}

function finding(about: Finding['about'], kind: Finding['kind'], message: string): Finding {
  return { about, kind, message };
}
