import { z } from 'zod';
import { CHANNEL_NAME_RULE, isChannelName } from '../protocol/channels.js';
import { wholeNumber } from './liveness-schema.js';

const address = z
  .string()
  .trim()
  .refine((value) => isWebAddress(value), 'must be an address like https://host/path')
  .refine((value) => !holdsPassword(value), 'must hold no password');

const WEBHOOK = z.strictObject({
  kind: z
    .literal('webhook', 'must be "webhook"')
    .describe('How deliveries leave: by webhook, signed as Standard Webhooks has it.'),
  url: address.describe('The address that each delivery is posted to. Redirects are not followed.'),
  secretVariable: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of a variable, and not the secret itself')
    .describe(
      'The name of the environment variable that holds the signing secret: base64, with or without "whsec_" before it.',
    ),
  timeoutMs: wholeNumber({ least: 100, most: 60_000, unit: ' ms' })
    .default(10_000)
    .describe('The longest that the receiver may take to answer one attempt.'),
  retryMs: wholeNumber({ least: 100, most: 3_600_000, unit: ' ms' })
    .default(5_000)
    .describe('The wait after the first attempt that fails; each further one is about twice as long, up to an hour.'),
  giveUpAfterMs: wholeNumber({
    ...{
      least: 1_000,
      most: 7 * 24 * 3_600_000,
      unit: ' ms',
      why: 'there is no "for ever": a receiver that is gone must be seen',
    },
  })
    .default(24 * 3_600_000)
    .describe('From the first attempt to the dead letter.'),
});

export const CHANNELS = z
  .record(z.string().refine(isChannelName, CHANNEL_NAME_RULE), WEBHOOK)
  .default({})
  .describe(
    'Where outcomes go besides the journal, by the name that sessions call it. All workers of a task queue must declare the same.',
  );

export type WebhookChannel = z.output<typeof WEBHOOK>;

function isWebAddress(value: string): boolean {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

/** Whether an address carries a user's name or password. */
export function holdsPassword(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { username, password } = new URL(value);
  return username !== '' || password !== '';
}
