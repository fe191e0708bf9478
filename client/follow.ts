import type { Output, OutputKind } from '../protocol/outputs.js';
import type { SessionStore } from '../store/session-store.js';
import type { JournalWatch } from './journal-watch.js';

const PAGE = 500;

export interface FollowOptions {
  /** Outputs up to this `seq` are known already; 0 = from the beginning. */
  afterSeq: number;
  /** Only these kinds; discards and ends of turns always come. */
  kinds?: readonly OutputKind[];
  /** Ends the iteration. */
  signal?: AbortSignal;
}

/** What reading outputs needs: the journal, and word of its growth. */
export interface Journal {
  store: Pick<SessionStore, 'readOutputs'>;
  watch: JournalWatch;
}

/** Batches of a session's outputs as they come, in order, without end. */
export async function* followOutputs(
  { store, watch }: Journal,
  sessionId: string,
  { afterSeq, kinds, signal }: FollowOptions,
): AsyncGenerator<Output[]> {
  let seen = afterSeq;
  // What a filter hides counts as seen too, or every look would find it again.
  let looked = afterSeq;
  while (!signal?.aborted) {
    await watch.grown(sessionId, looked, signal);
    if (signal?.aborted) return;
    const outputs = await store.readOutputs({ sessionId, afterSeq: seen, limit: PAGE, ...(kinds ? { kinds } : {}) });
    seen = outputs.at(-1)?.seq ?? seen;
    looked = outputs.length === 0 ? looked + 1 : seen;
    if (outputs.length > 0) yield outputs;
  }
}
