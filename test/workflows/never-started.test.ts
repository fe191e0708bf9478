import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import { toCallFailure } from '../../workflows/call-failure.js';
import { DEFAULT_PROFILE } from '../../protocol/liveness.js';

/** As the server reports an activity that no worker took, after the failure of the attempt before. */
function neverStarted(before?: Error): ActivityFailure {
  const cause = new TimeoutFailure('activity timeout', undefined, 'SCHEDULE_TO_START');
  if (before) Object.defineProperty(cause, 'cause', { value: before });
  return new ActivityFailure('failed', 'callModel', '1', 'TIMEOUT', undefined, cause);
}

test.each<[string, Error | undefined, number | null]>([
  ['the first attempt', undefined, 1],
  [
    'the attempt after one that says its number',
    ApplicationFailure.create({ type: 'StreamBroken', details: [{ attempt: 2, phase: null }] }),
    3,
  ],
  ['an attempt after one that fell silent', new TimeoutFailure('silent', undefined, 'HEARTBEAT'), null],
])('%s that no worker took is told apart from every other timeout', (_, before, attempt) => {
  expect(toCallFailure(neverStarted(before))).toMatchObject({ type: 'ScheduleToStartTimeout', attempt });
});

test('a profile of an older worker is filled up with what it does not know', () => {
  const { scheduleToStartMs: _, capacityWaitPerTurnMs: __, ...older } = DEFAULT_PROFILE;
  const changed = ApplicationFailure.create({ type: 'ProfileChanged', details: [{ attempt: 1, phase: null }, older] });
  expect(toCallFailure(changed).profile).toEqual(DEFAULT_PROFILE);
});
