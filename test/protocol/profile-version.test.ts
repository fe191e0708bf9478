import { DEFAULT_PROFILE, profileVersion } from '../../protocol/liveness.js';

const { budgetsMs } = DEFAULT_PROFILE;

test('a profile without later knobs has the version that sessions have known it by from the beginning', () => {
  expect(profileVersion(DEFAULT_PROFILE)).toBe('60000,60000,180000,180000,180000,60000,60000/2/200/900000/20');
});

test('every later knob makes another version', () => {
  const versions = [
    {},
    { scheduleToStartMs: 2_000 },
    { capacityWaitPerTurnMs: 2_000 },
    { links: [{ model: 'a', budgetsMs }] },
    { links: [{ model: 'b', budgetsMs }] },
    { links: [{ model: 'b', budgetsMs: { ...budgetsMs, prefill: 1 } }] },
  ].map((over) => profileVersion({ ...DEFAULT_PROFILE, ...over }));
  expect(new Set(versions).size).toBe(versions.length);
});
