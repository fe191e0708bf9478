import { Context } from '@temporalio/activity';
import type { RecordInput } from '../protocol/calls.js';
import type { Dependencies } from './dependencies.js';

/** The `record` activity: outcomes, outputs and fates into the store. Runs as a local activity, so it may write again after a freeze; every row has a derived key. */
export function createRecord({ store }: Dependencies) {
  return async function record(input: RecordInput): Promise<void> {
    Context.current().cancellationSignal.throwIfAborted();
    await store.record(input);
  };
}
