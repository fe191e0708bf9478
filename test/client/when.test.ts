import { parseDuration, parseInstant, parseInstantOrDuration } from '../../client/cli/when.js';

test.each([
  ['10s', 10_000],
  ['250ms', 250],
  ['5m', 300_000],
  ['1h30m', 5_400_000],
  ['1.5d', 129_600_000],
])('%s is a length of time', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(['', '10', 's', '-5s', '5 m', '5min', '1h 30m', '1e3s', '٣s'])('"%s" is none', (text) => {
  expect(() => parseDuration(text)).toThrow('like 10s, 5m');
});

test.each([
  ['2026-01-31T09:00:00Z', Date.UTC(2026, 0, 31, 9)],
  ['2026-01-31T09:00Z', Date.UTC(2026, 0, 31, 9)],
  ['2026-01-31T10:30:00.250+05:45', Date.UTC(2026, 0, 31, 4, 45, 0, 250)],
])('%s is an instant', (text, atMs) => {
  expect(parseInstant(text)).toBe(atMs);
});

test.each(['2026-01-31', '2026-01-31T09:00:00', 'tomorrow', '2026-13-01T00:00Z', '1767225600000'])(
  '"%s" is none, because machines would disagree about it, or nobody could know it',
  (text) => {
    expect(() => parseInstant(text)).toThrow('with its offset');
  },
);

test('where either may be said, a length of time counts from now', () => {
  expect(parseInstantOrDuration('2h', 1_000)).toBe(7_201_000);
  expect(parseInstantOrDuration('1970-01-01T00:00:05Z', 1_000)).toBe(5_000);
});
