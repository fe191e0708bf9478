import { contentHash, hashText } from '../../../workflows/session/content-hash.js';

test('a fingerprint is 14 hexadecimal digits, the same for the same text everywhere', () => {
  expect(hashText('')).toBe(hashText(''));
  expect(['', 'a', 'b', 'a longer text'].map(hashText)).toEqual(
    ['', 'a', 'b', 'a longer text'].map(() => expect.stringMatching(/^[0-9a-f]{14}$/) as string),
  );
  // Stored in every session's state: another value would make old messages look changed.
  expect(hashText('hello')).toBe('106f3a63cd7226');
});

test('parts that differ in any way have different fingerprints', () => {
  const hashes = [
    contentHash([{ kind: 'text', text: 'a' }]),
    contentHash([{ kind: 'text', text: 'b' }]),
    contentHash([
      { kind: 'text', text: 'a' },
      { kind: 'text', text: 'a' },
    ]),
    contentHash([{ kind: 'text', ref: 'a' }]),
  ];
  expect(new Set(hashes).size).toBe(4);
});
