import { answerStop } from '../../../workflows/session/stop.js';
import {
  answers,
  asksFor,
  aSession,
  after,
  anAnswer,
  aFailure,
  callOf,
  CHAIN,
  drains,
  effectOf,
  effectsOf,
  fails,
  fateOf,
  messageIds,
  placeOf,
  queuedIds,
  receives,
  recorded,
  stops,
  timerFires,
  toolEnds,
  turnOf,
  when,
} from '../../support/session-builders.js';
import type { SessionState } from '../../../workflows/session/state.js';

const T1 = `${CHAIN}-1`;
const running = aSession(receives('m1'));
const rollOver = { rollOverDue: true };

describe.each<[string, SessionState, ids: string[], reason: RegExp]>([
  ['while its model call is in flight', running, [`${T1}.1`], /the model was being asked/],
  ['while a changed profile is taken over', after(running, fails('WorkerLost')), [`${T1}.1`], /asked/],
  ['while it waits for the provider', after(running, fails('ModelBusy')), [], /waiting for the provider/],
  ['while it waits for the store', after(running, fails('StoreUnavailable')), [], /waiting for the session store/],
  ['while tools run', after(running, asksFor('look', 'send'), toolEnds(0)), [`${T1}.1.t2`], /running look, send/],
  ['between two steps', when(after(running, asksFor('look')), toolEnds(0), rollOver).state, [], /between two steps/],
])('a stop of a turn %s', (_, state, ids, reason) => {
  test('ends it as aborted, cancels what is in flight, and leaves it nothing', () => {
    const change = when(state, stops(T1), rollOver);
    expect(change.state).toMatchObject({ turn: null, timerAtMs: null });
    expect(change.state.lastOutcome).toEqual({ turnId: T1, outcome: 'aborted', reason: expect.stringMatching(reason) });
    expect(effectsOf(change, 'cancelCalls').flatMap((effect) => effect.ids)).toEqual(ids);
    expect(fateOf(change.state, 'm1')).toBe('answered');
  });

  test('lets what waits run next, and answers so', () => {
    const waiting = after(state, receives('m2', { mode: 'queue' }));
    expect(answerStop(waiting, null)).toEqual({ kind: 'stopped', turnId: T1, next: 'm2' });
    const { state: stopped } = when(waiting, stops());
    expect(turnOf(stopped).source.key).toBe('m2');
    expect(messageIds(callOf(stopped).append).at(-1)).toBe('m2');
  });

  test('changes nothing when it names another turn', () => {
    const change = when(state, stops('other'), rollOver);
    expect(change.state).toEqual(when(state, stops('other'), rollOver).state);
    expect(placeOf(change.state)).toBe(placeOf(state));
    expect(answerStop(state, 'other')).toEqual({ kind: 'nothing_running' });
  });
});

describe('a stopped turn', () => {
  test('leaves its message and what it had said to the next call', () => {
    const stopped = after(running, stops());
    expect(stopped.carried).toEqual([
      expect.objectContaining({ kind: 'message', messageId: 'm1', turnId: T1 }),
      { kind: 'interruptedCall', callId: `${T1}.1` },
    ]);
    const { append, callId } = callOf(after(stopped, receives('m2')));
    expect(callId).toBe(`${CHAIN}-2.1`);
    expect(append.map((item) => item.kind)).toEqual(['message', 'interruptedCall', 'message']);
  });

  test('leaves the results of its tools, those that had not ended as unknown', () => {
    const stopped = after(running, asksFor('look', 'send', 'wait'), toolEnds(1), stops());
    expect(stopped.carried).toEqual([
      { kind: 'toolResult', toolCallId: `${T1}.1.t1`, name: 'look', lost: 'its turn was stopped' },
      { kind: 'toolResult', toolCallId: `${T1}.1.t2`, name: 'send', lost: null },
      { kind: 'toolResult', toolCallId: `${T1}.1.t3`, name: 'wait', lost: 'its turn was stopped' },
    ]);
  });

  test('gives back the steers that had not joined: they run before what was queued', () => {
    const state = after(running, receives('q', { mode: 'queue' }), receives('s1'), receives('s2'));
    expect(answerStop(state, T1)).toMatchObject({ next: 's1' });
    const stopped = after(state, stops(T1));
    expect(turnOf(stopped).source.key).toBe('s1');
    expect(queuedIds(stopped)).toEqual(['s2', 'q']);
  });

  test('does not change by what its calls report later', () => {
    const stopped = after(running, stops(), recorded);
    const late = [
      { kind: 'modelFinished', callId: `${T1}.1`, dispatch: 1, result: anAnswer(`${T1}.1`) },
      { kind: 'modelFailed', callId: `${T1}.1`, dispatch: 1, failure: aFailure('Unknown') },
    ] as const;
    for (const event of late) expect(when(stopped, event)).toEqual({ state: stopped, effects: [] });
    const withTools = after(running, asksFor('look'), stops(), recorded);
    const ended = { kind: 'toolFinished', toolCallId: `${T1}.1.t1`, dispatch: 1 } as const;
    expect(when(withTools, ended)).toEqual({ state: withTools, effects: [] });
  });

  test('is recorded, with what its call was to tell', () => {
    const record = effectOf(when(running, stops()), 'record').input;
    expect(record.outcomes).toEqual([expect.objectContaining({ turnId: T1, outcome: 'aborted' })]);
    expect(record.outputs.map((output) => output.kind)).toEqual(['MessageReceived', 'TurnStarted']);
  });

  test('has no timer left that could fire', () => {
    const waiting = after(running, fails('ModelBusy'));
    expect(effectOf(when(waiting, stops()), 'armTimer').atMs).toBeNull();
    const stopped = after(waiting, stops());
    expect(after(stopped, timerFires)).toEqual(stopped);
  });
});

describe('the answer to a stop', () => {
  test('names the turn that ended when that is the one meant', () => {
    const idle = after(running, answers());
    expect(answerStop(idle, null)).toEqual({ kind: 'nothing_running', ended: T1 });
    expect(answerStop(idle, T1)).toEqual({ kind: 'nothing_running', ended: T1 });
    expect(answerStop(idle, 'other')).toEqual({ kind: 'nothing_running' });
    expect(answerStop(aSession(), null)).toEqual({ kind: 'nothing_running' });
  });

  test('says that the named turn has ended although the next one runs, which goes on', () => {
    const next = after(running, answers(), receives('m2'));
    expect(answerStop(next, T1)).toEqual({ kind: 'nothing_running', ended: T1 });
    expect(turnOf(after(next, stops(T1))).source.key).toBe('m2');
  });

  test('promises nothing while the session drains', () => {
    const state = after(running, receives('m2', { mode: 'queue' }), drains);
    expect(answerStop(state, null)).toEqual({ kind: 'stopped', turnId: T1, next: null });
    expect(after(state, stops())).toMatchObject({ turn: null, queue: [{ message: { id: 'm2' } }] });
  });

  test('is that nothing runs when nothing waits behind', () => {
    expect(answerStop(running, null)).toEqual({ kind: 'stopped', turnId: T1, next: null });
  });
});
