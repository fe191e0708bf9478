/** A worker that cannot start, with what to do about it: printed without a stack. */
export class StartError extends Error {
  override name = 'StartError';
}
