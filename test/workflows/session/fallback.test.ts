import type { CallFailure } from '../../../workflows/session/events.js';
import {
  aChainOf,
  answers,
  asksFor,
  aSessionWith,
  after,
  askedBy,
  drains,
  effectOf,
  effectsOf,
  fails,
  noticesOf,
  placeOf,
  receives,
  recorded,
  timerFires,
  toldBy,
  toolEnds,
  turnOf,
  when,
} from '../../support/session-builders.js';
import { DEFAULT_PROFILE } from '../../../protocol/liveness.js';
import { LIMITS } from '../../../protocol/limits.js';

const running = () => aSessionWith(aChainOf('big', 'small'), receives('m1'));

test('a turn begins at the first model, which its call does not name', () => {
  const { input } = effectOf(when(aSessionWith(aChainOf('big', 'small')), receives('m1')), 'callModel');
  expect(input).not.toHaveProperty('link');
});

describe.each<[CallFailure['type']]>([['HeartbeatTimeout'], ['StreamBroken'], ['ModelBusy'], ['ModelRejected']])(
  'a model that fails with %s',
  (type) => {
    test('gives way to the next one at once, with the same call and resumes of its own', () => {
      const state = running();
      const change = when(state, fails(type, { attempt: null, retryAfterMs: 20_000 }));
      const { input, maximumAttempts } = effectOf(change, 'callModel');
      expect(input).toMatchObject({ ...askedBy(state), dispatch: 2, link: 1 });
      expect(maximumAttempts).toBe(3);
      expect(turnOf(change.state).used).toMatchObject({ resumes: 0, providerWaitMs: 0 });
    });

    test('is named with its successor and the cause', () => {
      const change = when(running(), fails(type, { message: 'what went wrong' }));
      expect(noticesOf(change)).toEqual(['model_fallback']);
      const cause = type === 'HeartbeatTimeout' ? 'the model was silent for 60 s' : 'what went wrong';
      expect(toldBy(change).at(-1)).toMatchObject({
        message: expect.stringContaining(`from big to small: ${cause}`) as string,
      });
    });
  },
);

test('a turn stays with the model that it moved to, and the next turn begins at the first again', () => {
  const moved = after(running(), fails('StreamBroken', { attempt: null }), asksFor('look'), recorded);
  const change = when(moved, toolEnds(0));
  expect(effectOf(change, 'callModel').input).toMatchObject({ link: 1 });
  const next = when(after(change.state, answers()), receives('m2'));
  expect(effectOf(next, 'callModel').input).not.toHaveProperty('link');
});

test.each<[string, CallFailure['type'], Partial<CallFailure>]>([
  ['a request that no model would take', 'ModelRejected', { inputAtFault: true }],
  ['a prompt that is too long', 'ContextOverflow', {}],
  ['a fault of ours', 'Defect', {}],
])('%s is not sent to another model', (_, type, over) => {
  const change = when(running(), fails(type, over));
  expect(effectsOf(change, 'callModel')).toEqual([]);
  expect(change.state.lastOutcome).toMatchObject({ outcome: 'failed', reason: `${type} happened` });
});

test('nothing is asked of another model while the session drains', () => {
  const change = when(after(running(), drains), fails('StreamBroken'));
  expect(effectsOf(change, 'callModel')).toEqual([]);
});

test('the last model is waited for when it is busy', () => {
  const state = after(running(), fails('ModelBusy'), fails('ModelBusy', { retryAfterMs: 2_000 }));
  expect(placeOf(state)).toBe('waiting');
  expect(effectOf(when(state, timerFires), 'callModel').input).toMatchObject({ link: 1, dispatch: 3 });
});

describe('the end of the chain', () => {
  test.each<[CallFailure['type'], string]>([
    ['HeartbeatTimeout', 'timeout'],
    ['StreamBroken', 'failed'],
    ['ModelRejected', 'failed'],
    ['Defect', 'failed'],
  ])('by %s names each model with its own cause', (type, outcome) => {
    const state = after(
      aSessionWith(aChainOf('big', 'middle', 'small'), receives('m1')),
      fails('ModelRejected', { message: 'the key is wrong' }),
      fails('StreamBroken', { message: 'the line broke', attempt: null }),
      fails(type, { message: 'the last straw', attempt: null }),
    );
    const last = type === 'HeartbeatTimeout' ? 'the model was silent for 60 s' : 'the last straw';
    const causes = `big: the key is wrong; middle: the line broke; small: ${last}`;
    const reason = expect.stringContaining(`no model of the chain answered: ${causes}`) as string;
    expect(state.lastOutcome).toMatchObject({ outcome, reason });
  });

  test('by a wait that is used up does too', () => {
    const profile = { ...aChainOf('big', 'small'), providerWaitPerTurnMs: 1_000 };
    const busy = fails('ModelBusy', { retryAfterMs: 20_000, message: 'too many' });
    const { lastOutcome } = after(aSessionWith(profile, receives('m1')), busy, busy);
    expect(lastOutcome?.reason).toMatch(/big: too many; small: the provider stayed busy: too many/);
  });

  test('names them all, however much each has to say', () => {
    const long = fails('ModelRejected', { message: 'x'.repeat(LIMITS.reasonChars) });
    const { lastOutcome } = after(aSessionWith(aChainOf('a1', 'a2', 'a3'), receives('m1')), long, long, long);
    for (const model of ['a1', 'a2', 'a3']) expect(lastOutcome?.reason).toContain(`${model}: x`);
    expect(lastOutcome!.reason!.length).toBeLessThanOrEqual(LIMITS.reasonChars);
  });
});

test('a profile that lost its chain goes on with the model that is left', () => {
  const moved = after(running(), fails('StreamBroken'), recorded);
  const change = when(moved, fails('ProfileChanged', { profile: DEFAULT_PROFILE }));
  expect(effectOf(change, 'callModel').input).not.toHaveProperty('link');
  expect(after(change.state, fails('Defect')).lastOutcome?.reason).toMatch(/big: .*; the model: Defect happened/);
});
