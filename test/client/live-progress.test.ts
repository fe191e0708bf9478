import { defaultPayloadConverter, toPayloads } from '@temporalio/common';
import { withLiveProgress } from '../../client/live-progress.js';
import { toView } from '../../workflows/session/view.js';
import { aSession, receives } from '../support/session-builders.js';

const view = toView(aSession(receives('m1')), 0);
const atMs = view.turn!.lastProgress.atMs + 5_000;

/** What the server says of a session whose model call sent these details. */
function describedWith(details: unknown) {
  const payloads = toPayloads(defaultPayloadConverter, details)!;
  const pendingActivities = [{ activityType: { name: 'callModel' }, heartbeatDetails: { payloads } }];
  return { raw: { pendingActivities } } as unknown as Parameters<typeof withLiveProgress>[1];
}

const progressAfter = (details: unknown) => withLiveProgress(view, describedWith(details)).turn!.lastProgress;

test('a running call that received something tells of content', () => {
  expect(progressAfter({ phase: 'streaming', atMs, charsReceived: 3 })).toEqual({
    ...{ kind: 'content', phase: 'streaming', atMs },
  });
});

test('a running call that received nothing tells how far it came, and of no content', () => {
  expect(progressAfter({ phase: 'prefill', atMs, charsReceived: 0 })).toEqual({
    ...{ kind: 'call_started', phase: 'prefill', atMs },
  });
});

test.each([
  ['older than what the session knows', { phase: 'streaming', atMs: 0, charsReceived: 3 }],
  ['of no phase', { phase: 'dreaming', atMs, charsReceived: 3 }],
  ['of no time', { phase: 'streaming', charsReceived: 3 }],
  ['nothing', null],
])('details that are %s change nothing', (_, details) => {
  expect(progressAfter(details)).toEqual(view.turn!.lastProgress);
});
