import { LIMITS } from '../../../protocol/limits.js';
import {
  answers,
  aSession,
  after,
  callOf,
  CHAIN,
  effectOf,
  effectsOf,
  fails,
  receives,
  recorded,
  signal,
  toldBy,
  when,
} from '../../support/session-builders.js';

const flood = (event: ReturnType<typeof signal>, times = 400) => Array.from({ length: times }, () => event);
/** A session whose first record is in flight. */
const recording = () => aSession(signal('nonsense'));

test('outputs have keys that count up and never start again', () => {
  const state = aSession(receives('m1'), answers(), receives('m2'));
  expect(callOf(state).outputs.map((output) => output.key)).toEqual([`${CHAIN}.o3`, `${CHAIN}.o4`]);
});

test('what there is to tell goes out at once, and while a record is in flight it waits for the next', () => {
  expect(effectOf(when(aSession(), signal('nonsense')), 'record').input.outputs).toHaveLength(1);
  const state = after(recording(), signal('more'), signal('and more'));
  const change = when(state, recorded);
  expect(effectOf(change, 'record').input.outputs).toHaveLength(2);
  expect(when(change.state, recorded).effects).toEqual([]);
});

test.each([
  ['notices', signal('nonsense'), 1],
  ['answers to repeats', receives('m1'), 1],
])('of a flood of %s 300 are kept, and one says how many are missing', (_, event) => {
  const state = after(recording(), receives('m1'), ...flood(event));
  expect(state.outbox).toHaveLength(300);
  const change = when(state, recorded);
  const { outputs } = effectOf(change, 'record').input;
  expect(outputs).toHaveLength(301);
  expect(outputs.at(-1)).toMatchObject({ kind: 'Notice', message: expect.stringContaining('100 further') as string });
  expect(change.state).toMatchObject({ outbox: [], noticesLeftOut: 0 });
});

test('refusals count as a flood too', () => {
  const full = after(
    recording(),
    receives('m0'),
    ...Array.from({ length: LIMITS.queuedItems }, (_, n) => receives(`q${n}`)),
  );
  const state = after(full, ...Array.from({ length: 400 }, (_, n) => receives(`over${n}`)));
  expect(state.outbox).toHaveLength(300);
  expect(state.noticesLeftOut).toBe(200);
});

test('what became of an accepted message is told even in a flood', () => {
  const change = when(
    after(recording(), receives('m0'), ...flood(signal('nonsense'))),
    receives('m1', { mode: 'queue' }),
  );
  expect(change.state.outbox.at(-1)).toMatchObject({ messageId: 'm1', disposition: { kind: 'queued' } });
});

test('a flood rides on the next call as well', () => {
  const change = when(after(recording(), ...flood(signal('nonsense'))), receives('m1'));
  expect(toldBy(change)).toHaveLength(303);
  expect(effectsOf(change, 'record')).toEqual([]);
});

test('a long notice is cut', () => {
  const change = when(aSession(receives('m1')), fails('ModelBusy', { message: 'x'.repeat(50_000) }));
  expect(toldBy(change)[0]).toMatchObject({
    code: 'model_busy',
    message: expect.stringMatching(/^.{2000}$/) as string,
  });
});

test('an acknowledgement without a record changes nothing', () => {
  expect(when(aSession(), recorded)).toEqual({ state: aSession(), effects: [] });
});
