import { createWebhook } from '../../activities/webhook.js';
import { LIMITS } from '../../protocol/limits.js';
import type { StoredDelivery, StoredOutcome } from '../../store/session-store.js';
import { UNKNOWN_USAGE } from '../../protocol/usage.js';
import { SECRET, WebhookReceiver } from '../support/webhook-receiver.js';

const receiver = new WebhookReceiver();
beforeAll(() => receiver.start());
afterAll(() => receiver.stop());

const DELIVERY: StoredDelivery = {
  ...{ id: 'msg_1', channel: 'hook', sessionId: 'acme/s1', subject: 't1', part: 'outcome', state: 'pending' },
  ...{ attempts: 1, sinceMs: 0, dueMs: 0, problem: null, updatedAtMs: 0 },
};
const OUTCOME: StoredOutcome = {
  ...{ sessionId: 'acme/s1', turnId: 't1', outcome: 'completed', reason: null, silent: false, segments: ['hi'] },
  ...{ source: { kind: 'message', key: 'm1' }, text: 'hi', partial: null, usage: UNKNOWN_USAGE },
  ...{ startedAtMs: 1_000, endedAtMs: 2_000 },
};

function attempt(path: string, over: Partial<StoredDelivery> = {}, outcome: StoredOutcome | null = OUTCOME) {
  const limits = { timeoutMs: 300, retryMs: 100, giveUpAfterMs: 1_000 };
  const address = { kind: 'webhook', url: `${receiver.address}${path}`, secretVariable: 'S', secret: SECRET } as const;
  const webhook = createWebhook({ ...address, ...limits }, { findOutcome: () => Promise.resolve(outcome) });
  return webhook.attempt({ ...DELIVERY, ...over }, new AbortController().signal);
}

test('an outcome is posted with a signature that the library verifies', async () => {
  await expect(attempt('/ok')).resolves.toEqual({ kind: 'delivered' });
  expect(receiver.refused).toEqual([]);
  expect(receiver.on('/ok')).toEqual([
    {
      path: '/ok',
      id: 'msg_1',
      body: {
        type: 'turn.ended',
        timestamp: '1970-01-01T00:00:02.000Z',
        data: {
          ...{ sessionId: 'acme/s1', turnId: 't1', outcome: 'completed', reason: null, text: 'hi', partial: null },
          ...{ isCut: false, source: { kind: 'message', key: 'm1' }, startedAtMs: 1_000, endedAtMs: 2_000 },
        },
      },
    },
  ]);
});

test('a notice is posted as it stands', async () => {
  await attempt('/notice', { part: 'notice', notice: { code: 'session_suspended', message: 'no agent' } });
  expect(receiver.on('/notice')[0]!.body).toMatchObject({
    ...{ type: 'session.notice', data: { sessionId: 'acme/s1', code: 'session_suspended', message: 'no agent' } },
  });
});

test.each([
  ['500', 500, { kind: 'failed', problem: 'the receiver answered 500' }],
  ['410', 410, { kind: 'refused', problem: 'the receiver answered 410' }],
  ['a redirect', 302, { kind: 'failed', problem: 'the receiver answered 302' }],
  ['nothing', 'never', { kind: 'failed', problem: 'the receiver did not answer within 300 ms' }],
] as const)('an answer of %s is told apart', async (name, answer, end) => {
  const path = `/${name.replace(' ', '-')}`;
  receiver.answer(path, answer);
  await expect(attempt(path)).resolves.toEqual(end);
  expect(receiver.on('/elsewhere')).toEqual([]);
});

test('a receiver that is not there, and content that is not there, are failures', async () => {
  const gone = createWebhook(
    {
      ...{ kind: 'webhook', url: 'http://127.0.0.1:1/', secretVariable: 'S', secret: SECRET },
      ...{ timeoutMs: 300, retryMs: 100, giveUpAfterMs: 1_000 },
    },
    { findOutcome: () => Promise.resolve(OUTCOME) },
  );
  await expect(gone.attempt(DELIVERY, new AbortController().signal)).resolves.toMatchObject({
    ...{ kind: 'failed', problem: expect.stringMatching(/ECONNREFUSED|bad port/) as string },
  });
  await expect(attempt('/none', {}, null)).resolves.toMatchObject({ kind: 'failed' });
  expect(receiver.on('/none')).toEqual([]);
});

test('a text beyond the limit is cut between characters, and says so', async () => {
  const text = `x${'€'.repeat(LIMITS.webhookTextBytes)}`;
  await attempt('/long', {}, { ...OUTCOME, text, partial: text });
  const { data } = receiver.on('/long')[0]!.body as { data: { text: string; partial: string; isCut: boolean } };
  expect(data.isCut).toBe(true);
  expect(data.text).toMatch(/^x€+$/);
  expect(Buffer.byteLength(data.text)).toBeLessThanOrEqual(LIMITS.webhookTextBytes);
  expect(data.partial).toBe(data.text);
});

test('what is no secret is refused without being repeated', () => {
  const channel = { kind: 'webhook', url: 'https://h/', secretVariable: 'S', secret: 'not base64!' } as const;
  const limits = { timeoutMs: 300, retryMs: 100, giveUpAfterMs: 1_000 };
  const create = () => createWebhook({ ...channel, ...limits }, { findOutcome: () => Promise.resolve(null) });
  expect(create).toThrow(/no signing secret/);
  expect(create).not.toThrow(/not base64!/);
});
