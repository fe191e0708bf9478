import { defaultPayloadConverter, type Payload, type PayloadConverter } from '@temporalio/common';

/**
 * The default converter, except that it never throws on what it cannot read: a signal that anyone may have sent would fail the
 * workflow's task for ever, before any handler could refuse it. The marker in its place is refused like any other malformed input.
 */
class TolerantPayloadConverter implements PayloadConverter {
  toPayload<T>(value: T): Payload {
    return defaultPayloadConverter.toPayload(value);
  }

  fromPayload<T>(payload: Payload): T {
    try {
      return defaultPayloadConverter.fromPayload(payload);
    } catch (error) {
      const undecodable = error instanceof Error ? error.message : 'unknown encoding';
      return { undecodable } as T; // Whoever reads input of others expects anything.
    }
  }
}

export const payloadConverter: PayloadConverter = new TolerantPayloadConverter();
