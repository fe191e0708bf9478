/**
 * A process between Vigil and the Temporal server, so that the server never outlives who started it, not even by `kill -9`.
 * Started by `server-process.ts`: `leash PROGRAM ARG…`, with an IPC channel, in a process group of its own.
 *
 * I1. The closed channel is the signal that the owner is gone: nothing else could tell of a SIGKILL.
 * I2. Neither leash nor server sees the terminal's Ctrl-C: the owner decides when and in which order things stop.
 * I3. The leash ends only after the server has.
 */
import { spawn } from 'node:child_process';
import { SERVER_GRACE_MS, type LeashReport, type LeashRequest } from './leash-messages.js';

const [program = '', ...args] = process.argv.slice(2);
const server = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });

server.once('spawn', () => tell({ kind: 'started', pid: server.pid ?? 0 }));
server.once('error', (error) => end({ kind: 'failed', reason: error.message }));
server.once('exit', (code, signal) => end({ kind: 'exited', code, signal }));

process.on('SIGINT', () => undefined);
process.on('SIGHUP', () => undefined);
process.on('SIGTERM', stopServer);
process.on('disconnect', stopServer);
process.on('message', (request: LeashRequest) => {
  if (request.kind === 'stop') stopServer();
  else server.kill('SIGKILL');
});

// The owner may have gone while this module was loading, too early for anybody to hear of it.
if (!process.connected) stopServer();

function stopServer(): void {
  server.kill('SIGTERM');
  setTimeout(() => server.kill('SIGKILL'), SERVER_GRACE_MS).unref();
}

function end(report: LeashReport): void {
  tell(report, () => process.exit());
}

function tell(report: LeashReport, sent: () => void = () => undefined): void {
  if (process.connected) process.send?.(report, undefined, undefined, sent);
  else sent();
}
