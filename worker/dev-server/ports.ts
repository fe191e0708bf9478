import { createServer } from 'node:net';

/** Everything the embedded server listens on stays on loopback. */
export const LOOPBACK = '127.0.0.1';

export interface PortRequest {
  /** What the port is for, as the messages name it: `port`, `UI port`. */
  readonly label: string;
  readonly flag: string;
  /** What the flag said; `undefined` when it was not given, 0 for any free port. */
  readonly chosen: number | undefined;
  readonly default: number;
}

export class PortTakenError extends Error {
  override readonly name = 'PortTakenError';
}

/**
 * The port to listen on. A taken default gives way to a free port, and says so; a port that somebody chose does not.
 * @throws PortTakenError
 */
export async function choosePort(request: PortRequest, report: (line: string) => void): Promise<number> {
  const wanted = request.chosen ?? request.default;
  if (wanted === 0) return freePort();
  if (await isPortFree(wanted)) return wanted;
  if (request.chosen !== undefined) {
    throw new PortTakenError(
      `${request.label} ${wanted} is taken by another program; choose another with ${request.flag}, or 0 for any free port`,
    );
  }
  const port = await freePort();
  report(`${request.label} ${wanted} is taken; using ${port} instead (choose one with ${request.flag})`);
  return port;
}

export async function isPortFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== null;
}

export async function freePort(): Promise<number> {
  const port = await listenOnce(0);
  if (port === null) throw new Error(`No port is free on ${LOOPBACK}.`);
  return port;
}

/** Listens for an instant and answers with the port it had; `null` when it could not have it. */
function listenOnce(port: number): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(null);
      else reject(error);
    });
    probe.listen({ port, host: LOOPBACK, exclusive: true }, () => {
      const address = probe.address();
      probe.close(() => resolve(address !== null && typeof address === 'object' ? address.port : null));
    });
  });
}
