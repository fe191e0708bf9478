import type { Attempt, Channel } from '../../activities/channels.js';
import { DeliveryLoop } from '../../activities/delivery-loop.js';
import type { EndDelivery, StoredDelivery } from '../../store/session-store.js';
import { until } from '../support/until.js';

const DELIVERY: StoredDelivery = {
  ...{ id: 'msg_1', channel: 'hook', sessionId: 'acme/s1', subject: 't1', part: 'outcome', state: 'pending' },
  ...{ attempts: 3, sinceMs: 1_000, dueMs: 0, problem: null, updatedAtMs: 0 },
};

/** A loop whose store hands out these deliveries once, at this moment. */
function aLoop(attempt: Channel['attempt'], { nowMs = 1_000, claims = [[DELIVERY]] } = {}) {
  const ends: EndDelivery[] = [];
  let looks = 0;
  const store = {
    claimDeliveries: () => {
      looks += 1;
      const claimed = claims.shift();
      return claimed === undefined ? Promise.reject(new Error('the store is away')) : Promise.resolve(claimed);
    },
    endDelivery: (end: EndDelivery) => Promise.resolve(void ends.push(end)),
  };
  const channel = { attempt, timeoutMs: 100, retryMs: 500, giveUpAfterMs: 20_000 };
  const loop = new DeliveryLoop({ name: 'hook', channel, store, lookMs: 10, now: () => nowMs });
  loop.start();
  return { loop, ends, looks: () => looks };
}

async function endOf(attempt: Attempt, nowMs: number): Promise<EndDelivery> {
  const { loop, ends } = aLoop(() => Promise.resolve(attempt), { nowMs });
  await until('an end', () => ends.length > 0);
  await loop.stop();
  return ends[0]!;
}

const failed = { kind: 'failed', problem: 'no' } as const;

test.each([
  ['delivered is delivered', { kind: 'delivered' } as const, 1_000, { kind: 'delivered' }],
  ['the first failure waits the shortest', failed, 1_000, { kind: 'again', problem: 'no', dueMs: 1_500 }],
  ['later ones wait as long as it took so far', failed, 6_000, { kind: 'again', problem: 'no', dueMs: 11_000 }],
  ['what would be tried after its time is dead', failed, 12_000, { kind: 'dead', problem: 'no' }],
  [
    'what is refused is dead at once',
    { kind: 'refused', problem: 'gone' } as const,
    1_000,
    { kind: 'dead', problem: 'gone' },
  ],
])('%s', async (_, attempt, nowMs, end) => {
  await expect(endOf(attempt, nowMs)).resolves.toEqual({ id: 'msg_1', attempt: 3, end });
});

test('a store that is away is asked again', async () => {
  const { loop, looks } = aLoop(() => Promise.resolve({ kind: 'delivered' }), { claims: [] });
  await until('further looks', () => looks() > 2);
  await loop.stop();
});

test('an attempt that fails with the store holds up no other', async () => {
  const second = { ...DELIVERY, id: 'msg_2' };
  const { loop, ends } = aLoop(
    ({ id }) => (id === 'msg_1' ? Promise.reject(new Error('away')) : Promise.resolve({ kind: 'delivered' })),
    { claims: [[DELIVERY, second]] },
  );
  await until('an end', () => ends.length > 0);
  await loop.stop();
  expect(ends).toMatchObject([{ id: 'msg_2' }]);
});

test('a stop breaks attempts off, and leaves them to whoever comes next', async () => {
  let isRunning = false;
  const { loop, ends } = aLoop((_, signal) => {
    isRunning = true;
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(failed)));
  });
  await until('the attempt', () => isRunning);
  await loop.stop();
  expect(ends).toEqual([]);
});
