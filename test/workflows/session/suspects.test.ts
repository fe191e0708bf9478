import { SUSPECT_LOSSES } from '../../../protocol/failures.js';
import type { SessionState } from '../../../workflows/session/state.js';
import {
  aFailure,
  aSession,
  after,
  answers,
  asksFor,
  callOf,
  drains,
  effectOf,
  effectsOf,
  fails,
  type Happening,
  noticesOf,
  receives,
  turnOf,
  when,
} from '../../support/session-builders.js';

const running = () => aSession(receives('m1'));
const loses = (losses: number) => fails('WorkerLost', { losses });
const suspected = () => after(running(), loses(1), loses(SUSPECT_LOSSES));

describe('a model call that loses its worker', () => {
  test('once goes on among the others', () => {
    const change = when(running(), loses(1));
    expect(effectOf(change, 'callModel')).not.toHaveProperty('isApart');
    expect(noticesOf(change)).toEqual([]);
  });

  test('twice goes on apart, which is told', () => {
    const change = when(after(running(), loses(1)), loses(SUSPECT_LOSSES));
    expect(effectOf(change, 'callModel')).toMatchObject({ isApart: true, input: { dispatch: 3 } });
    expect(noticesOf(change)).toEqual(['running_apart']);
    expect(turnOf(change.state).used).toMatchObject({ redispatches: 2, resumes: 0 });
  });

  test('where it ran alone ends its turn as interrupted, and says so', () => {
    const change = when(suspected(), loses(SUSPECT_LOSSES + 1));
    expect(change.state.lastOutcome).toEqual({
      turnId: expect.any(String) as string,
      outcome: 'interrupted',
      reason: 'the model call was given up: it killed its worker, where it ran alone',
    });
  });

  test('stays apart through whatever else happens to it, and its turn goes on among the others', () => {
    const draining = when(suspected(), fails('WorkerDraining'));
    expect(effectOf(draining, 'callModel')).toMatchObject({ isApart: true, input: { dispatch: 4 } });
    const next = when(after(draining.state, asksFor('look')), toolFails(0));
    expect(effectOf(next, 'callModel')).not.toHaveProperty('isApart');
  });

  test('answers from there as from anywhere', () => {
    expect(after(suspected(), answers()).lastOutcome).toMatchObject({ outcome: 'completed' });
  });

  test('while the session drains is not tried again', () => {
    const change = when(after(running(), drains), loses(SUSPECT_LOSSES));
    expect(change.state.lastOutcome).toMatchObject({ outcome: 'interrupted' });
    expect(effectsOf(change, 'callModel')).toEqual([]);
  });
});

/** The tool call at this place fails, by losing so many workers. */
function toolFails(place: number, losses = 0): Happening {
  return (state) => {
    const { step } = turnOf(state);
    if (step.kind !== 'tools') throw new Error('no tools run');
    const { toolCallId, dispatch } = step.calls[place]!;
    return { kind: 'toolFailed', toolCallId, dispatch, failure: aFailure('WorkerLost', { losses, message: 'gone' }) };
  };
}

describe('a tool that loses its workers', () => {
  const withTool = (maximumAttempts: number): SessionState => {
    const state = after(running(), asksFor('look'));
    const { step } = turnOf(state);
    if (step.kind !== 'tools') throw new Error('no tools run');
    return {
      ...state,
      turn: { ...turnOf(state), step: { ...step, calls: step.calls.map((call) => ({ ...call, maximumAttempts })) } },
    };
  };
  const lost = (state: SessionState) => callOf(state).append;

  test('goes on apart when it may be repeated, and is given up when it kills that worker too', () => {
    const apart = when(withTool(3), toolFails(0, SUSPECT_LOSSES));
    expect(effectOf(apart, 'callTool')).toMatchObject({ isApart: true, dispatch: 2, maximumAttempts: 3 });
    expect(noticesOf(apart)).toEqual(['running_apart']);
    const over = after(apart.state, toolFails(0, SUSPECT_LOSSES + 1));
    expect(lost(over)).toMatchObject([{ kind: 'toolResult', lost: 'it killed its worker, where it ran alone' }]);
  });

  test('is never repeated when it may not be', () => {
    const change = when(withTool(1), toolFails(0, SUSPECT_LOSSES));
    expect(effectsOf(change, 'callTool')).toEqual([]);
    expect(lost(change.state)).toMatchObject([{ kind: 'toolResult' }]);
  });

  test('while the session drains is not repeated either', () => {
    const change = when(after(withTool(3), drains), toolFails(0, SUSPECT_LOSSES));
    expect(effectsOf(change, 'callTool')).toEqual([]);
    expect(lost(change.state)).toMatchObject([{ lost: 'gone' }]);
  });

  test('for other reasons stays where it is', () => {
    expect(lost(after(withTool(3), toolFails(0, 1)))).toMatchObject([{ lost: 'gone' }]);
  });
});
