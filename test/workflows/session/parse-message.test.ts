import { LIMITS } from '../../../protocol/limits.js';
import { parseMessage, utf8Length } from '../../../workflows/session/parse-message.js';

const BLOB = `blob:${'0'.repeat(64)}`;
const parsed = (payload: unknown) => parseMessage(payload);

test('a text is shorthand for one text part, and what is not said has its default', () => {
  expect(parsed({ id: 'm1', text: 'hello' })).toEqual({
    kind: 'message',
    id: 'm1',
    parts: [{ kind: 'text', text: 'hello' }],
    mode: 'steer',
    silent: false,
  });
});

test('a message that says that a wake sends it never joins a turn, whatever else it says', () => {
  const message = { id: 'm1', text: 'hello', mode: 'steer' };
  expect(parsed({ ...message, isAutomated: true })).toMatchObject({ mode: 'queue', isAutomated: true });
  expect(parsed({ ...message, isAutomated: false })).toEqual(parsed(message));
});

test('a message may name its mode and be silent, and unknown fields are ignored', () => {
  expect(parsed({ id: 'm1', text: 'hello', mode: 'queue', silent: true, colour: 'red' })).toEqual({
    kind: 'message',
    id: 'm1',
    parts: [{ kind: 'text', text: 'hello' }],
    mode: 'queue',
    silent: true,
  });
});

test.each([
  ['an inline text', { kind: 'text', text: 'hi' }],
  ['a stored text', { kind: 'text', ref: BLOB }],
  ['a stored image', { kind: 'image', ref: BLOB, mediaType: 'image/png' }],
  ['an image at an address', { kind: 'image', ref: 'https://example.com/a.png', mediaType: 'image/png' }],
  ['a file', { kind: 'file', ref: BLOB, mediaType: 'application/pdf' }],
  ['a file with a name', { kind: 'file', ref: BLOB, mediaType: 'application/pdf', name: 'a.pdf' }],
])('%s is a part as it stands', (_, part) => {
  expect(parsed({ id: 'm1', parts: [part] })).toMatchObject({ parts: [part] });
});

test('fields that a part does not have are left out', () => {
  expect(parsed({ id: 'm1', parts: [{ kind: 'text', text: 'hi', ref: BLOB, mediaType: 'x/y' }] })).toMatchObject({
    parts: [{ kind: 'text', text: 'hi' }],
  });
});

test('an empty text beside an image is no problem', () => {
  const parts = [
    { kind: 'text', text: '' },
    { kind: 'image', ref: BLOB, mediaType: 'image/png' },
  ];
  expect(parsed({ id: 'm1', parts })).toMatchObject({ parts });
});

test.each([
  ['nothing', undefined, 'must be an object'],
  ['null', null, 'must be an object'],
  ['a text', 'hello', 'must be an object'],
  ['a number', 5, 'must be an object'],
  ['a list', [{ id: 'm1', text: 'hi' }], 'must be an object'],
  ['no id', { text: 'hi' }, '"id"'],
  ['an id that is no text', { id: 7, text: 'hi' }, '"id"'],
  ['an empty id', { id: '', text: 'hi' }, '"id"'],
  ['an id that is too long', { id: 'x'.repeat(LIMITS.idChars + 1), text: 'hi' }, '"id"'],
  ['an unknown mode', { id: 'm1', text: 'hi', mode: 'interrupt' }, '"mode"'],
  ['a mode that is null', { id: 'm1', text: 'hi', mode: null }, '"mode"'],
  ['silent as a text', { id: 'm1', text: 'hi', silent: 'yes' }, '"silent"'],
  ['automated as a text', { id: 'm1', text: 'hi', isAutomated: 'yes' }, '"isAutomated"'],
  ['text and parts', { id: 'm1', text: 'hi', parts: [] }, 'not both'],
  ['neither text nor parts', { id: 'm1' }, 'no content'],
  ['parts that are null', { id: 'm1', parts: null }, 'no content'],
  ['no parts', { id: 'm1', parts: [] }, 'no content'],
  ['parts that are no list', { id: 'm1', parts: { kind: 'text', text: 'hi' } }, 'must be a list'],
  [
    'too many parts',
    { id: 'm1', parts: Array(LIMITS.partsPerMessage + 1).fill({ kind: 'text', text: 'a' }) },
    'more than',
  ],
  ['an empty text', { id: 'm1', text: '' }, 'empty'],
  ['a blank text', { id: 'm1', text: ' \n' }, 'empty'],
  [
    'blank parts',
    {
      id: 'm1',
      parts: [
        { kind: 'text', text: ' ' },
        { kind: 'text', text: '' },
      ],
    },
    'empty',
  ],
  ['a text that is null', { id: 'm1', text: null }, '"text" as a string'],
  ['a text that is a number', { id: 'm1', text: 5 }, '"text" as a string'],
  ['too much text', { id: 'm1', text: 'x'.repeat(LIMITS.inlineTextBytes + 1) }, 'bytes'],
  ['too much text in bytes', { id: 'm1', text: 'ü'.repeat(LIMITS.inlineTextBytes / 2 + 1) }, 'bytes'],
  [
    'too much text over all parts',
    { id: 'm1', parts: Array(3).fill({ kind: 'text', text: 'x'.repeat(6_000) }) },
    'bytes',
  ],
  ['a part that is no object', { id: 'm1', parts: ['hi'] }, 'part must be an object'],
  ['a part that is null', { id: 'm1', parts: [null] }, 'part must be an object'],
  ['a part of unknown kind', { id: 'm1', parts: [{ kind: 'video', ref: BLOB }] }, 'of kind "text", "image" or "file"'],
  ['a part without a kind', { id: 'm1', parts: [{ text: 'hi' }] }, 'of kind "text", "image" or "file"'],
  ['a text part at an address', { id: 'm1', parts: [{ kind: 'text', ref: 'https://example.com/a' }] }, 'blob:<sha256>'],
  ['an image without content', { id: 'm1', parts: [{ kind: 'image', mediaType: 'image/png' }] }, 'needs "ref"'],
  [
    'a reference of unknown kind',
    { id: 'm1', parts: [{ kind: 'image', ref: 'file:///etc/passwd', mediaType: 'image/png' }] },
    'needs "ref"',
  ],
  [
    'a blob with a wrong hash',
    { id: 'm1', parts: [{ kind: 'file', ref: 'blob:12', mediaType: 'a/b' }] },
    'needs "ref"',
  ],
  [
    'an address that cannot be parsed',
    { id: 'm1', parts: [{ kind: 'image', ref: 'http://[', mediaType: 'image/png' }] },
    'needs "ref"',
  ],
  [
    'a reference that is too long',
    { id: 'm1', parts: [{ kind: 'image', ref: `https://a/${'x'.repeat(LIMITS.referenceChars)}`, mediaType: 'a/b' }] },
    'needs "ref"',
  ],
  ['an image without a media type', { id: 'm1', parts: [{ kind: 'image', ref: BLOB }] }, '"mediaType"'],
  ['a media type that is none', { id: 'm1', parts: [{ kind: 'image', ref: BLOB, mediaType: 'png' }] }, '"mediaType"'],
  [
    'a media type that is too long',
    { id: 'm1', parts: [{ kind: 'image', ref: BLOB, mediaType: `image/${'x'.repeat(LIMITS.idChars)}` }] },
    '"mediaType"',
  ],
  [
    'a file name that is no text',
    { id: 'm1', parts: [{ kind: 'file', ref: BLOB, mediaType: 'a/b', name: 5 }] },
    '"name"',
  ],
  [
    'a file name that is too long',
    { id: 'm1', parts: [{ kind: 'file', ref: BLOB, mediaType: 'a/b', name: 'x'.repeat(LIMITS.idChars + 1) }] },
    '"name"',
  ],
])('%s is answered with what is wrong', (_, payload, problem) => {
  expect(parsed(payload)).toEqual({ problem: expect.stringContaining(problem) as string });
});

test('what is wrong names the message as soon as it has a name', () => {
  expect(parsed({ id: 'm1', text: '' })).toEqual({ problem: 'message "m1": its text is empty' });
});

test.each(['', 'a', 'ü', '€', '😀', 'a😀ü€', '\ud800'])('the length of %j in UTF-8 is what an encoder says', (text) => {
  expect(utf8Length(text)).toBe(new TextEncoder().encode(text).length);
});
