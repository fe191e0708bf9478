import { setTimeout as delay } from 'node:timers/promises';
import type { Output } from '../../../protocol/outputs.js';
import type { SessionStore } from '../../../store/session-store.js';
import { aBegin, aMessage, finishedCall, journal, SESSION } from '../../support/store-builders.js';
import { startStoreProcess, type StoreProcess } from '../../support/store-processes.js';
import type { StoreFixture } from './store-fixture.js';

const SESSIONS = ['acme/p1', 'acme/p2'];
const PROCESSES_MS = 90_000;

export function describeProcesses(fixture: StoreFixture): void {
  const startWriter = (name: string, turns: number): StoreProcess =>
    startStoreProcess('store-writer.ts', [fixture.location, name, String(turns), ...SESSIONS]);

  test('another handle sees at once what was written', async () => {
    const other = await fixture.another();
    const head = await finishedCall(fixture.store, aBegin());
    expect(await other.transcript(SESSION, head)).toHaveLength(2);
    expect(await journal(other)).toEqual(await journal(fixture.store));
  });

  test('two handles that begin the same try at once agree on one task', async () => {
    const other = await fixture.another();
    const [left, right] = await Promise.allSettled([
      fixture.store.beginTry(aBegin({ taskToken: 'left' })),
      other.beginTry(aBegin({ taskToken: 'right' })),
    ]);
    expect([left.status, right.status].sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('two handles that begin two turns with one message at once start one of them', async () => {
    const other = await fixture.another();
    const kinds = await Promise.all([
      fixture.store.beginTry(aBegin({ turnId: 't1', append: [aMessage('m1')] })),
      other.beginTry(aBegin({ turnId: 't2', append: [aMessage('m1')] })),
    ]);
    expect(kinds.map((begun) => begun.kind).sort()).toEqual(['begun', 'repeated']);
  });

  test(
    'processes that write to the same sessions leave no hole, and a reader never sees one',
    async () => {
      const writers = ['a', 'b', 'c'].map((name) => startWriter(name, 15));
      const reader = new FollowingReader(fixture.store);
      while (writers.some((writer) => writer.child.exitCode === null)) {
        await reader.readOn();
        await delay(2);
      }
      expect(await Promise.all(writers.map((writer) => writer.ended))).toEqual([0, 0, 0]);
      await reader.readOn();
      for (const sessionId of SESSIONS) {
        const seen = reader.seen(sessionId);
        expect(seen).toEqual(await journal(fixture.store, sessionId));
        expect(seen.map((output) => output.seq)).toEqual(seen.map((_, index) => index + 1));
        const acknowledged = writers.flatMap((writer) => writer.lines).filter((line) => line.startsWith(sessionId));
        expect(deltasOf(sessionId, seen).sort()).toEqual(acknowledged.sort());
      }
    },
    PROCESSES_MS,
  );

  test(
    'a process killed while it writes loses nothing it acknowledged, and the store goes on',
    async () => {
      const writer = startWriter('killed', 10_000);
      await writer.printed(40);
      writer.child.kill('SIGKILL');
      expect(await writer.ended).toBe('SIGKILL');
      for (const sessionId of SESSIONS) {
        const found = await journal(fixture.store, sessionId);
        const acknowledged = writer.lines.filter((line) => line.startsWith(sessionId));
        expect(deltasOf(sessionId, found)).toEqual(expect.arrayContaining(acknowledged));
        expect(found.map((output) => output.seq)).toEqual(found.map((_, index) => index + 1));
      }
      expect(await startWriter('after', 2).ended).toBe(0);
    },
    PROCESSES_MS,
  );
}

function deltasOf(sessionId: string, outputs: Output[]): string[] {
  return outputs.flatMap((output) => (output.kind === 'TextDelta' ? [`${sessionId} ${output.text}`] : []));
}

/** Reads as a client does: always behind the newest `seq` that it saw. */
class FollowingReader {
  readonly #store: SessionStore;
  readonly #seen = new Map<string, Output[]>(SESSIONS.map((sessionId) => [sessionId, []]));

  constructor(store: SessionStore) {
    this.#store = store;
  }

  async readOn(): Promise<void> {
    for (const [sessionId, seen] of this.#seen) {
      seen.push(...(await this.#store.readOutputs({ sessionId, afterSeq: seen.at(-1)?.seq ?? 0, limit: 1_000 })));
    }
  }

  seen(sessionId: string): Output[] {
    return this.#seen.get(sessionId) ?? [];
  }
}
