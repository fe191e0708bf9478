import type { LeasedWorker, NewLease } from '../../../store/session-store.js';
import type { StoreFixture } from './store-fixture.js';

const aLease = (over: Partial<NewLease> = {}): NewLease => ({
  leaseId: 'lease-1',
  supervisor: 'host/1/a',
  namespace: 'default',
  taskQueue: 'vigil',
  ...over,
});
const WORKER: LeasedWorker = { instance: 'host/2/b', instanceKeys: ['key'], stickyQueue: 'host/2/b-1' };

export function describeLeases(fixture: StoreFixture): void {
  const renew = (renewals: number, worker: LeasedWorker | null = WORKER) =>
    fixture.store.renewLease({ leaseId: 'lease-1', renewals, worker });
  const takeOver = (renewals: number, by = 'other') =>
    fixture.store.takeOverLease({ leaseId: 'lease-1', renewals, by });

  test('a lease that was taken is held, and says who runs under it once renewed', async () => {
    const { store } = fixture;
    await store.takeLease(aLease());
    expect(await store.leases()).toEqual([{ ...aLease(), worker: null, renewals: 0, takenBy: null }]);
    expect(await renew(1)).toBe(true);
    expect(await store.findLease('lease-1')).toEqual({ ...aLease(), worker: WORKER, renewals: 1, takenBy: null });
  });

  test('taking and renewing twice changes nothing more', async () => {
    const { store } = fixture;
    await store.takeLease(aLease());
    expect([await renew(1), await renew(1)]).toEqual([true, true]);
    await store.takeLease(aLease());
    expect(await store.findLease('lease-1')).toMatchObject({ renewals: 1, worker: WORKER });
  });

  test('a lease that was renewed since it was seen cannot be taken over', async () => {
    await fixture.store.takeLease(aLease());
    await renew(2);
    expect(await takeOver(1)).toBe(false);
    expect(await renew(3)).toBe(true);
  });

  test('one that stood still is taken over by one judge alone, who learns it again when asked twice', async () => {
    const { store } = fixture;
    const other = await fixture.another();
    await store.takeLease(aLease());
    await renew(1);
    const won = await Promise.all([
      takeOver(1, 'left'),
      other.takeOverLease({ leaseId: 'lease-1', renewals: 1, by: 'right' }),
    ]);
    expect(won.filter(Boolean)).toHaveLength(1);
    const winner = won[0] ? 'left' : 'right';
    expect(await takeOver(1, winner)).toBe(true);
    expect(await store.findLease('lease-1')).toMatchObject({ takenBy: winner, worker: WORKER });
  });

  test('a supervisor whose lease was taken over or dropped hears of it when it renews', async () => {
    const { store } = fixture;
    await store.takeLease(aLease());
    await takeOver(0);
    expect(await renew(1)).toBe(false);
    await store.dropLease('lease-1');
    expect(await renew(2)).toBe(false);
    expect(await store.leases()).toEqual([]);
    expect(await takeOver(0)).toBe(false);
  });
}
