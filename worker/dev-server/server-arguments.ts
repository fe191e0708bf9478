/** What Vigil asks of a server (DESIGN 8, 9); `docker-compose.yml` sets the same. Values are JSON: durations are quoted. */
export const DYNAMIC_CONFIG: Readonly<Record<string, string>> = {
  // A fenced worker's open polls end at once: recovery in under a second.
  'frontend.enableCancelWorkerPollsOnShutdown': 'true',
  // A cancel reaches a silent call in milliseconds instead of with its next heartbeat.
  'frontend.WorkerCommandsEnabled': 'true',
  'system.enableCancelActivityWorkerCommand': 'true',
  // Activities start on the worker that ordered them, where a frozen worker cannot swallow them.
  'system.enableActivityEagerExecution': 'true',
  // Short timers and retries are short: 9 ms instead of 850 ms.
  'history.timerProcessorMaxTimeShift': '"50ms"',
  // The server's default of one refuses a second reader who asks while a workflow task runs.
  'history.MaxBufferedQueryCount': '100',
};

export interface ServerPlace {
  readonly port: number;
  /** `null`: without the web UI. */
  readonly uiPort: number | null;
  /** `null`: in memory. */
  readonly dbPath: string | null;
}

export function serverArguments({ port, uiPort, dbPath }: ServerPlace, ip: string): string[] {
  return [
    ...['server', 'start-dev', '--ip', ip, '--port', String(port), '--log-level', 'warn'],
    ...(uiPort === null ? ['--headless'] : ['--ui-port', String(uiPort)]),
    // WAL doubles the throughput of the default journal and is as durable.
    ...(dbPath === null ? [] : ['--db-filename', dbPath, '--sqlite-pragma', 'journal_mode=wal']),
    ...Object.entries(DYNAMIC_CONFIG).flatMap(([key, value]) => ['--dynamic-config-value', `${key}=${value}`]),
  ];
}
