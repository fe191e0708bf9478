import { AsyncLocalStorage } from 'node:async_hooks';
import { channel } from 'node:diagnostics_channel';
import { Agent, fetch as undiciFetch } from 'undici';

/**
 * The HTTP client of every provider. Its own header and body timeouts are off: they would be a second, hidden stall detector at 300 s
 * that keepalive comments defeat. `fetch` and `Agent` come from the same undici, because a foreign dispatcher breaks the built-in fetch.
 */
const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 0 } });

export const modelFetch = ((input: Parameters<typeof undiciFetch>[0], init?: Parameters<typeof undiciFetch>[1]) =>
  undiciFetch(input, { ...init, dispatcher })) as unknown as typeof globalThis.fetch;

/**
 * Tells when a request made inside `run` is on the wire. A server may hold its headers back until its first token, so "headers
 * received" would count its thinking as connecting.
 */
export function onRequestSent<Result>(listener: () => void, run: () => Result): Result {
  return listeners.run(listener, run);
}

const listeners = new AsyncLocalStorage<() => void>();
const listenerOf = new WeakMap<object, () => void>();

channel('undici:request:create').subscribe((message) => {
  const listener = listeners.getStore();
  if (listener) listenerOf.set((message as { request: object }).request, listener);
});
channel('undici:client:sendHeaders').subscribe((message) => {
  listenerOf.get((message as { request: object }).request)?.();
});
