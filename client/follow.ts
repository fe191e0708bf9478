import { setTimeout as delay } from 'node:timers/promises';
import type { Output, OutputKind } from '../protocol/outputs.js';
import type { SessionStore } from '../store/session-store.js';

/** Milliseconds between two looks at the journal: short while outputs come, longer when it is quiet. */
const SHORTEST_LOOK_MS = 25;
const LONGEST_LOOK_MS = 200;
const PAGE = 500;

export interface FollowOptions {
  /** Outputs up to this `seq` are known already; 0 = from the beginning. */
  afterSeq: number;
  /** Only these kinds; discards and ends of turns always come. */
  kinds?: readonly OutputKind[];
  /** Ends the iteration. */
  signal?: AbortSignal;
}

/** Outputs of a session as they come, in order, without end. */
export async function* followOutputs(
  store: Pick<SessionStore, 'readOutputs'>,
  sessionId: string,
  { afterSeq, kinds, signal }: FollowOptions,
): AsyncGenerator<Output[]> {
  let seen = afterSeq;
  let waitMs = SHORTEST_LOOK_MS;
  while (!signal?.aborted) {
    const outputs = await store.readOutputs({ sessionId, afterSeq: seen, limit: PAGE, ...(kinds ? { kinds } : {}) });
    if (outputs.length > 0) {
      seen = outputs.at(-1)!.seq;
      waitMs = SHORTEST_LOOK_MS;
      yield outputs;
    } else {
      await delay(waitMs, undefined, signal ? { signal } : {}).catch(() => undefined);
      waitMs = Math.min(LONGEST_LOOK_MS, waitMs * 1.5);
    }
  }
}
