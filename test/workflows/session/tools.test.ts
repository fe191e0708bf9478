import {
  aFailure,
  answers,
  asksFor,
  aSession,
  after,
  callOf,
  CHAIN,
  effectsOf,
  fails,
  placeOf,
  receives,
  reminds,
  toolEnds,
  toolFails,
  when,
} from '../../support/session-builders.js';

const asked = () => aSession(receives('m1'), asksFor('look', 'send', 'look'));
const toolCallIds = [`${CHAIN}-1.1.t1`, `${CHAIN}-1.1.t2`, `${CHAIN}-1.1.t3`];

test('every tool that an answer asks for starts at once, with what its agent says of it', () => {
  const change = when(aSession(receives('m1')), asksFor('look', 'send', 'look'));
  const tools = effectsOf(change, 'callTool');
  expect(tools.map(({ input }) => input.toolCallId)).toEqual(toolCallIds);
  expect(tools[1]).toEqual({
    kind: 'callTool',
    input: {
      ...{ sessionId: 'acme/s1', agent: 'coder', turnId: `${CHAIN}-1`, callId: `${CHAIN}-1.1` },
      ...{ toolCallId: toolCallIds[1], name: 'send' },
    },
    dispatch: 1,
    scheduleToStartMs: 60_000,
    heartbeatTimeoutMs: 60_000,
    maximumAttempts: 1,
  });
  expect(change.state.head).toBe(`${CHAIN}-1.1.out`);
});

test.each([
  ['a person', receives('m1'), undefined],
  ['a reminder', reminds({ reminderId: 'r1', dueMs: 1, prompt: 'look' }), true],
  ['a wake of another session', receives('w1:1', { isAutomated: true }), true],
])('a tool of a turn that %s started knows whether that is automation', (_, start, isAutomated) => {
  const change = when(aSession(start), asksFor('look'));
  expect(effectsOf(change, 'callTool')[0]!.input.isAutomated).toBe(isAutomated);
});

test('the next call waits for the last of them and gets the results in the order of the calls', () => {
  const two = after(asked(), toolEnds(2), toolEnds(0));
  expect(placeOf(two)).toBe('tools');
  const all = after(two, toolEnds(1));
  expect(callOf(all).append).toEqual(
    toolCallIds.map((toolCallId, n) => ({
      kind: 'toolResult',
      toolCallId,
      name: n === 1 ? 'send' : 'look',
      lost: null,
    })),
  );
});

test('a tool that failed without a result is told to the model, and the turn goes on', () => {
  const state = after(asked(), toolFails(0, 'the worker is gone'), toolEnds(1), toolEnds(2));
  expect(callOf(state).append).toMatchObject([{ lost: 'the worker is gone' }, { lost: null }, { lost: null }]);
  expect(after(state, answers()).lastOutcome).toMatchObject({ outcome: 'completed' });
});

test('a second report of a tool changes nothing', () => {
  const state = after(asked(), toolEnds(0));
  const failure = aFailure('Unknown');
  expect(when(state, { kind: 'toolFailed', toolCallId: toolCallIds[0]!, dispatch: 1, failure }).state).toEqual(state);
  expect(when(state, { kind: 'toolFinished', toolCallId: toolCallIds[0]!, dispatch: 1 }).state).toEqual(state);
});

test.each(['toolFinished', 'toolFailed'] as const)(
  '%s of a step that is over, or of no call at all, changes nothing',
  (kind) => {
    const failure = aFailure('Unknown');
    const over = after(asked(), toolEnds(0), toolEnds(1), toolEnds(2));
    for (const state of [
      aSession(),
      over,
      after(over, asksFor('look')),
      after(over, answers()),
      after(over, fails('ModelBusy')),
    ]) {
      expect(when(state, { kind, toolCallId: toolCallIds[0]!, dispatch: 1, failure }).state).toEqual(state);
    }
  },
);

test.each(['completed', 'failed'] as const)('no tool is started by a call that settled its turn as %s', (outcome) => {
  const change = when(aSession(receives('m1')), answers({ outcome, reason: 'why' }));
  expect(effectsOf(change, 'callTool')).toEqual([]);
  expect(placeOf(change.state)).toBe('idle');
});
