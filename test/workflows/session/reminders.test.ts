import { LIMITS } from '../../../protocol/limits.js';
import {
  after,
  answers,
  aSession,
  CHAIN,
  dispositionsOf,
  drains,
  effectOf,
  fails,
  fateOf,
  isRepeat,
  noticesOf,
  queuedIds,
  receives,
  recorded,
  reminds,
  toldBy,
  turnOf,
  when,
} from '../../support/session-builders.js';

const REMINDER = { reminderId: 'r1', dueMs: 1_000, prompt: 'stretch' };
const ITEM = 'reminder:r1:1000';

/** What the sender was told. */
const placesOf = (change: ReturnType<typeof when>) =>
  toldBy(change).flatMap((output) => (output.kind === 'ReminderReceived' ? [output] : []));

test('a reminder has a turn of its own, which carries its key', () => {
  const received = when(aSession(), reminds({ ...REMINDER, origin: 'cron' }));
  expect(turnOf(received.state).source).toEqual({ kind: 'reminder', key: 'r1:1000' });
  expect(toldBy(received)).toMatchObject([
    { kind: 'ReminderReceived', reminderId: 'r1', dueMs: 1_000, disposition: { kind: 'started' } },
    { kind: 'TurnStarted', why: 'reminder r1, due 1970-01-01T00:00:01.000Z' },
  ]);
  expect(effectOf(received, 'callModel').input.append).toMatchObject([
    {
      messageId: ITEM,
      parts: [{ text: '[reminder r1 from cron, due 1970-01-01T00:00:01.000Z]' }, { text: 'stretch' }],
    },
  ]);
  expect(fateOf(after(received.state, answers()), ITEM)).toBe('answered');
});

test('it never joins a running turn', () => {
  const received = when(aSession(receives('m1')), reminds(REMINDER));
  expect(queuedIds(received.state)).toEqual([ITEM]);
  expect(placesOf(received)).toMatchObject([{ disposition: { kind: 'queued', position: 1 } }]);
  const next = when(after(received.state, recorded), answers());
  expect(turnOf(next.state).source.kind).toBe('reminder');
  expect(placesOf(next)).toEqual([]);
});

test('a redelivery gets the fate of the first, and no turn', () => {
  const done = aSession(reminds(REMINDER), answers());
  const again = when(done, reminds({ ...REMINDER, onBusy: 'refuse' }));
  expect(again.state.turn).toBeNull();
  expect(placesOf(again)).toMatchObject([
    { disposition: { kind: 'duplicate', fate: 'answered', turnId: `${CHAIN}-1`, contentDiffers: false } },
  ]);
  const changed = when(done, reminds({ ...REMINDER, prompt: 'other' }));
  expect(placesOf(changed)).toMatchObject([{ disposition: { contentDiffers: true } }]);
  expect(when(done, reminds({ ...REMINDER, dueMs: 2_000 })).state.turn).not.toBeNull();
});

test('one that the store knows takes back what it told of its start', () => {
  const { state } = when(aSession(reminds(REMINDER)), isRepeat());
  expect(state).toMatchObject({ turn: null, outbox: [] });
});

test.each([
  ['a turn runs', aSession(receives('m1'))],
  ['the session drains', aSession(drains)],
  ['something waits', aSession(receives('m1'), fails('AgentUnavailable'))],
])('with "refuse" nothing is kept of it when %s', (_, busy) => {
  const refused = when(after(busy, recorded), reminds({ ...REMINDER, onBusy: 'refuse' }));
  expect(placesOf(refused)).toMatchObject([{ disposition: { kind: 'refused', reason: 'session_busy' } }]);
  expect(fateOf(refused.state, ITEM)).toBeUndefined();
  expect(turnOf(when(aSession(), reminds({ ...REMINDER, onBusy: 'refuse' })).state).source.kind).toBe('reminder');
});

test('ids of messages cannot be those of other items', () => {
  const claimed = when(aSession(), receives(ITEM));
  expect(claimed.state.turn).toBeNull();
  expect(noticesOf(claimed)).toEqual(['malformed_signal']);
  expect(dispositionsOf(claimed, ITEM)).toEqual([]);
  expect(noticesOf(when(aSession(), receives('wake:x')))).toEqual(['malformed_signal']);
});

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['no id', { ...REMINDER, reminderId: undefined }],
  ['an empty id', { ...REMINDER, reminderId: '' }],
  ['too long an id', { ...REMINDER, reminderId: 'x'.repeat(LIMITS.idChars + 1) }],
  ['no due time', { ...REMINDER, dueMs: undefined }],
  ['a due time that is no date', { ...REMINDER, dueMs: 8.65e15 }],
  ['no prompt', { ...REMINDER, prompt: undefined }],
  ['a bad origin', { ...REMINDER, origin: 5 }],
  ['too long an origin', { ...REMINDER, origin: 'x'.repeat(LIMITS.wakeWordChars + 1) }],
  ['an unknown rule', { ...REMINDER, onBusy: 'steer' }],
])('one with %s is dropped with a notice', (_, payload) => {
  const dropped = when(aSession(), reminds(payload));
  expect(noticesOf(dropped)).toEqual(['malformed_signal']);
  expect(dropped.state.turn).toBeNull();
});
