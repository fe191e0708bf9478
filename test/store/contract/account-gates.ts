import type { StoreFixture } from './store-fixture.js';

const NOW_MS = 1_800_000_000_000;
const HOUR_MS = 60 * 60_000;
const ACCOUNT = 'account-1';

export function describeAccountGates(fixture: StoreFixture): void {
  const close = (nowMs: number, retryAfterMs: number | null = null, account = ACCOUNT) =>
    fixture.store.closeGate({ account, nowMs, retryAfterMs });

  test('an account that nobody complained of has no gate', async () => {
    expect(await fixture.store.findGate(ACCOUNT)).toBeNull();
  });

  test('a gate is closed for as long as the provider named, for every process and for no other account', async () => {
    const gate = { untilMs: NOW_MS + 20_000, waitMs: 20_000, failures: 1 };
    expect(await close(NOW_MS, 20_000)).toEqual(gate);
    expect(await (await fixture.another()).findGate(ACCOUNT)).toEqual(gate);
    expect(await fixture.store.findGate('account-2')).toBeNull();
  });

  test.each([
    [0, 1_000],
    [1_000.5, 1_001],
    [300 * HOUR_MS, HOUR_MS],
  ])('a provider that names %d ms is believed for %d', async (retryAfterMs, waitMs) => {
    expect(await close(NOW_MS, retryAfterMs)).toMatchObject({ waitMs, untilMs: NOW_MS + waitMs });
  });

  test('a provider that names no time is left alone twice as long after each failure, up to a minute', async () => {
    const waits = [];
    for (let n = 0, nowMs = NOW_MS; n < 8; n++) {
      const { waitMs, untilMs, failures } = await close(nowMs);
      expect(failures).toBe(n + 1);
      waits.push(waitMs);
      nowMs = untilMs;
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  test('busy answers that come while the gate is closed are the same failure, and only a later time moves it', async () => {
    const unnamed = await close(NOW_MS, null, 'account-2');
    expect(await close(NOW_MS + 900, null, 'account-2')).toEqual(unnamed);
    const first = await close(NOW_MS, 5_000);
    expect(await close(NOW_MS + 10)).toEqual(first);
    expect(await close(NOW_MS + 10, 2_000)).toEqual(first);
    expect(await close(NOW_MS + 10, 9_000)).toEqual({ untilMs: NOW_MS + 9_010, waitMs: 9_000, failures: 1 });
  });

  test('a success forgets the gate, but not one that was closed since', async () => {
    const { store } = fixture;
    await close(NOW_MS, 5_000);
    await store.openGate({ account: ACCOUNT, nowMs: NOW_MS + 4_999 });
    expect(await store.findGate(ACCOUNT)).not.toBeNull();
    await store.openGate({ account: 'account-2', nowMs: NOW_MS + 5_000 });
    expect(await store.findGate(ACCOUNT)).not.toBeNull();
    await store.openGate({ account: ACCOUNT, nowMs: NOW_MS + 5_000 });
    expect(await store.findGate(ACCOUNT)).toBeNull();
    expect(await close(NOW_MS + 6_000)).toMatchObject({ failures: 1 });
  });

  test('gates that nobody came back to are forgotten', async () => {
    await close(NOW_MS, 5_000, 'account-2');
    await close(NOW_MS + 5_000 + HOUR_MS);
    expect(await fixture.store.findGate('account-2')).not.toBeNull();
    await close(NOW_MS + 5_001 + HOUR_MS);
    expect(await fixture.store.findGate('account-2')).toBeNull();
  });
}
