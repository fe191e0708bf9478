import { Webhook } from 'standardwebhooks';
import { fetch } from 'undici';
import type { WebhookChannel } from '../config/load-config.js';
import { LIMITS } from '../protocol/limits.js';
import type { SessionStore, StoredDelivery, StoredOutcome } from '../store/session-store.js';
import type { Attempt, Channel } from './channels.js';

/** The receiver is gone for good: 410 of HTTP. */
const GONE = 410;

/**
 * A channel of kind `webhook`, as Standard Webhooks has it. `webhook-id` is the delivery's id, the same for every attempt, so that the
 * receiver can tell repeats; the signature is made anew each time.
 * @throws Error without the secret in its message, when that is none
 */
export function createWebhook(
  { url, timeoutMs, retryMs, giveUpAfterMs, secret }: WebhookChannel & { secret: string },
  store: Pick<SessionStore, 'findOutcome'>,
): Channel {
  const signer = createSigner(secret);
  const attempt = async (delivery: StoredDelivery, signal: AbortSignal): Promise<Attempt> => {
    const content = await contentOf(delivery, store);
    if (content === null) return { kind: 'failed', problem: 'the store does not have what is to be told' };
    const body = JSON.stringify(content);
    const now = new Date();
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'vigil',
      'webhook-id': delivery.id,
      'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
      'webhook-signature': signer.sign(delivery.id, now, body),
    };
    const limit = AbortSignal.timeout(timeoutMs);
    // A redirect would take what is signed for one address to another, so none is followed.
    const request = {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, limit]),
    } as const;
    const ended = await post(url, request);
    const isLate = limit.aborted && ended.kind === 'failed';
    return isLate ? { kind: 'failed', problem: `the receiver did not answer within ${timeoutMs} ms` } : ended;
  };
  return { attempt, timeoutMs, retryMs, giveUpAfterMs };
}

function createSigner(secret: string): Webhook {
  try {
    return new Webhook(secret);
  } catch {
    throw new Error('is no signing secret: it must be base64, with or without "whsec_" before it');
  }
}

async function post(url: string, request: NonNullable<Parameters<typeof fetch>[1]>): Promise<Attempt> {
  try {
    const { status, ok, body } = await fetch(url, request);
    // Whatever it says, only the status counts; a body that is left unread would hold the connection.
    await body?.cancel();
    if (ok) return { kind: 'delivered' };
    return { kind: status === GONE ? 'refused' : 'failed', problem: `the receiver answered ${status}` };
  } catch (error) {
    return { kind: 'failed', problem: causeOf(error) };
  }
}

/** The message of what is at the bottom: `fetch failed` says nothing. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? causeOf(error.cause) : error.message || error.name;
}

async function contentOf(delivery: StoredDelivery, store: Pick<SessionStore, 'findOutcome'>): Promise<object | null> {
  const { sessionId, subject, part, notice, sinceMs } = delivery;
  if (part === 'notice') {
    return { type: 'session.notice', timestamp: toText(sinceMs), data: { sessionId, ...notice } };
  }
  const outcome = await store.findOutcome(sessionId, subject);
  return outcome && { type: 'turn.ended', timestamp: toText(outcome.endedAtMs), data: toData(outcome) };
}

function toData({ sessionId, turnId, outcome, reason, text, partial, source, startedAtMs, endedAtMs }: StoredOutcome) {
  const cut = { text: cutToFit(text), partial: partial === null ? null : cutToFit(partial) };
  const isCut = cut.text !== text || cut.partial !== partial;
  return { sessionId, turnId, outcome, reason, ...cut, isCut, source, startedAtMs, endedAtMs };
}

/** The beginning that fits; a character that the limit would split is left out. */
function cutToFit(text: string): string {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length <= LIMITS.webhookTextBytes) return text;
  return new TextDecoder().decode(bytes.subarray(0, LIMITS.webhookTextBytes)).replace(/\uFFFD$/, '');
}

const toText = (ms: number): string => new Date(ms).toISOString();
