/** How long the server may take to stop once asked (measured: 2 s); then it is killed, which loses nothing. */
export const SERVER_GRACE_MS = 5_000;

/** From the owner to the leash. */
export type LeashRequest = { readonly kind: 'stop' } | { readonly kind: 'kill' };

/** From the leash to the owner. */
export type LeashReport =
  | { readonly kind: 'started'; readonly pid: number }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'exited'; readonly code: number | null; readonly signal: NodeJS.Signals | null };
