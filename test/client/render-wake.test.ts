import { renderAside } from '../../client/cli/render-turn.js';
import { renderItemId, renderWake } from '../../client/cli/render-wake.js';
import type { OutputBody } from '../../protocol/outputs.js';
import type { WakeView } from '../../protocol/wakes.js';

const DUE = { wakeId: 'w1', dueMs: 0 };
const due = '1970-01-01T00:00:00.000Z';
const reminder = { kind: 'ReminderReceived', reminderId: 'r1', dueMs: 0 } as const;
const cancelled = { kind: 'WakeCancelled', wakeId: 'w1', by: 'ada', withdrawn: null } as const;
const fires = [
  { dueMs: 0, text: 'noon' },
  { dueMs: 1, text: 'one' },
];
const scheduled = {
  kind: 'WakeScheduled',
  wakeId: 'w1',
  wakeKey: null,
  schedule: 'every 60 s',
  zone: 'UTC',
  fires,
} as const;

test.each<[OutputBody, string]>([
  [{ ...scheduled, replaced: false }, '[wake w1 scheduled: every 60 s; next noon]'],
  [{ ...scheduled, fires: [], replaced: true }, '[wake w1 changed: every 60 s; next none]'],
  [{ kind: 'WakeFired', ...DUE, lateMs: 5, skipped: 0, turnId: 't' }, `[wake w1 fired, due ${due}]`],
  [
    { kind: 'WakeFired', ...DUE, lateMs: 5, skipped: 0, sessionId: 'a/b' },
    `[wake w1 fired, due ${due}, in the session a/b]`,
  ],
  [{ kind: 'WakeDeferred', ...DUE, position: 2 }, `[wake w1, due ${due}, waits, number 2]`],
  [{ kind: 'WakeSkipped', ...DUE, lateMs: 1, reason: 'too_late' }, `[wake w1, due ${due}, skipped: it was too late]`],
  [{ ...cancelled, running: null, stopped: false }, '[wake w1 cancelled by ada]'],
  [{ ...cancelled, running: 't1', stopped: true }, '[wake w1 cancelled by ada; its turn t1 was stopped]'],
  [{ ...cancelled, running: 't1', stopped: false }, '[wake w1 cancelled by ada; its turn t1 goes on to its end]'],
  [{ kind: 'WakeExpired', wakeId: 'w1', expiredAtMs: 0 }, '[wake w1 expired]'],
  [{ kind: 'WakeDisabled', wakeId: 'w1', reason: 'no due time' }, '[wake w1 disabled: no due time]'],
  [{ ...reminder, disposition: { kind: 'started', turnId: 't' } }, `[reminder r1, due ${due}]`],
  [{ ...reminder, disposition: { kind: 'queued', position: 1 } }, `[reminder r1, due ${due}, waits, number 1]`],
  [
    { ...reminder, disposition: { kind: 'refused', reason: 'session_busy', message: 'busy' } },
    `[reminder r1, due ${due}, refused: busy]`,
  ],
  [
    { ...reminder, disposition: { kind: 'duplicate', fate: 'answered', turnId: 't', contentDiffers: false } },
    `[reminder r1, due ${due}, came again: answered]`,
  ],
  [{ kind: 'SessionClosed', by: 'ada', wakes: [], items: [], interrupted: null }, '[session closed by ada]'],
])('%j is one line', (body, line) => {
  expect(renderAside({ ...body, seq: 1, atMs: 0 })).toEqual([line]);
});

test('a wake is shown with all that it is', () => {
  const wake: WakeView = {
    ...{ id: 'w1', key: 'k', kind: 'interval', schedule: 'every 60 s', zone: 'UTC', fires, state: 'disabled' },
    ...{ reason: 'it failed', target: { kind: 'new', name: 'n-{due}' }, missed: 'skip', maxLatenessMs: null },
    ...{
      prompt: 'look',
      jitterMs: 0,
      skipWhenActiveMs: null,
      channel: null,
      expiresAtMs: 0,
      createdBy: 'ada',
      createdAtMs: 0,
      pending: 'wake:w1:0',
    },
    counts: { fired: 3, skipped: 2, failures: 1 },
  };
  const text = renderWake(wake);
  for (const part of ['w1, key k', 'every 60 s, UTC', `expires ${due}`, 'n-{due}', 'noon\n', 'one', 'by ada, '])
    expect(text).toContain(part);
  expect(text).toContain('disabled: it failed; 3 fired, 2 skipped, 1 failed in a row; one pending');
});

test('items that wait are named by their kind', () => {
  expect(['m1', 'wake:w1:0', 'reminder:a:b:0'].map(renderItemId)).toEqual([
    ...['message m1', `wake w1, due ${due}`, `reminder a:b, due ${due}`],
  ]);
});
