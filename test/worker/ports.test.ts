import { createServer, type Server } from 'node:net';
import { choosePort, freePort, isPortFree, LOOPBACK, type PortRequest } from '../../worker/dev-server/ports.js';

let holder: Server | undefined;

async function aTakenPort(): Promise<number> {
  const port = await freePort();
  holder = createServer();
  await new Promise<void>((resolve) => holder?.listen(port, LOOPBACK, resolve));
  return port;
}

afterEach(() => {
  holder?.close();
  holder = undefined;
});

function aRequest(overrides: Partial<PortRequest>): PortRequest {
  return { label: 'port', flag: '--temporal-port', chosen: undefined, default: 7233, ...overrides };
}

test('a free port is told from a taken one', async () => {
  expect(await isPortFree(await freePort())).toBe(true);
  expect(await isPortFree(await aTakenPort())).toBe(false);
});

test('a taken default gives way to a free port and says so in one line', async () => {
  const lines: string[] = [];
  const taken = await aTakenPort();
  const port = await choosePort(aRequest({ default: taken }), (line) => lines.push(line));
  expect(port).not.toBe(taken);
  expect(lines).toEqual([`port ${taken} is taken; using ${port} instead (choose one with --temporal-port)`]);
});

test('a chosen port that is taken is refused, naming the flag', async () => {
  const taken = await aTakenPort();
  await expect(choosePort(aRequest({ chosen: taken }), fail)).rejects.toThrow(
    `port ${taken} is taken by another program; choose another with --temporal-port, or 0 for any free port`,
  );
});

test('0 is any free port, without a word', async () => {
  expect(await choosePort(aRequest({ chosen: 0 }), fail)).toBeGreaterThan(0);
});

function fail(line: string): never {
  throw new Error(`unexpected report: ${line}`);
}
