import type { SessionState } from '../../../workflows/session/state.js';
import { upgradeState } from '../../../workflows/session/state.js';
import {
  answers,
  asksFor,
  aSession,
  after,
  callOf,
  effectsOf,
  fails,
  type Happening,
  messageIds,
  opened,
  placeOf,
  queuedIds,
  receives,
  recorded,
  rolledOver,
  signal,
  timerFires,
  toldBy,
  toolEnds,
  turnOf,
  when,
} from '../../support/session-builders.js';

const running = () => aSession(receives('m1'));
const due = { rollOverDue: true };
const kinds = (state: SessionState, happening: Happening) =>
  when(state, happening, due).effects.map((effect) => effect.kind);

test('an idle session rolls over at once', () => {
  expect(when(aSession(), opened, due)).toEqual({ state: aSession(), effects: [{ kind: 'continueAsNew' }] });
});

test.each<[string, SessionState, Happening, Happening]>([
  ['a model call', running(), receives('m2'), answers()],
  ['a tool', after(running(), asksFor('look')), receives('m2'), toolEnds(0)],
  ['a record', after(running(), fails('Defect')), receives('m2'), recorded],
])('nothing rolls over while %s is in flight', (_, state, meanwhile, end) => {
  const waiting = when(state, meanwhile, due);
  expect(effectsOf(waiting, 'continueAsNew')).toEqual([]);
  let { state: now } = waiting;
  if (now.recording) now = when(now, recorded, due).state;
  if (placeOf(now) !== 'idle') expect(kinds(now, end)).toEqual(['continueAsNew']);
});

test('an answer at the end of a run ends its turn, and the next run has nothing to record', () => {
  const change = when(after(running(), receives('m2'), recorded), answers(), due);
  expect(change.effects).toEqual([{ kind: 'continueAsNew' }]);
  expect(queuedIds(change.state)).toEqual(['m2']);
  const next = when(JSON.parse(JSON.stringify(change.state)) as SessionState, opened);
  expect(next.effects.map((effect) => effect.kind)).toEqual(['callModel']);
  expect(turnOf(next.state).source.key).toBe('m2');
});

test('a failure at the end of a run ends its turn, and the next run records it', () => {
  const change = when(after(running(), receives('m2', { mode: 'queue' }), recorded), fails('Defect'), due);
  expect(change.effects).toEqual([{ kind: 'continueAsNew' }]);
  expect(change.state.unrecorded.outcomes).toHaveLength(1);
  const next = when(JSON.parse(JSON.stringify(change.state)) as SessionState, opened);
  expect(next.effects.map((effect) => effect.kind)).toEqual(['callModel', 'record']);
  expect(turnOf(next.state).source.key).toBe('m2');
});

test('a turn between two steps goes on in the next run, with its budgets', () => {
  const used = after(running(), fails('WorkerLost', { attempt: 2 }), asksFor('look'), receives('m2'), recorded);
  const change = when(used, toolEnds(0), due);
  expect(placeOf(change.state)).toBe('toDispatch');
  const next = rolledOver(change.state);
  expect(callOf(next).append).toMatchObject([{ kind: 'toolResult' }, { messageId: 'm2' }]);
  expect(turnOf(next).used).toMatchObject({ resumes: 1, redispatches: 1 });
  expect(turnOf(next).id).toBe(turnOf(used).id);
});

test('a wait goes on in the next run, its timer armed anew', () => {
  const waiting = after(running(), fails('ModelBusy'), recorded);
  const change = when(waiting, signal({ id: 'm1', text: 'again' }), due);
  expect(change.effects).toEqual([{ kind: 'armTimer', atMs: null }, { kind: 'continueAsNew' }]);
  const next = when(change.state, opened);
  expect(effectsOf(next, 'armTimer')).toEqual([{ kind: 'armTimer', atMs: waiting.timerAtMs }]);
  expect(placeOf(after(next.state, timerFires))).toBe('calling');
});

test('a wait that is over at the end of a run asks in the next one, and its timer does not fire in vain meanwhile', () => {
  const waiting = after(running(), fails('StoreUnavailable'));
  expect(waiting.recording).not.toBeNull();
  const change = when(waiting, timerFires, due);
  expect(change.effects).toEqual([]);
  expect(change.state.timerAtMs).toBeNull();
  expect(kinds(change.state, recorded)).toEqual(['continueAsNew']);
});

test('messages that come at the end of a run are taken in, told and run in the next one', () => {
  const first = when(aSession(), receives('m1'), due);
  const second = when(first.state, receives('m2'), due);
  expect(second.effects).toEqual([{ kind: 'continueAsNew' }]);
  expect(queuedIds(second.state)).toEqual(['m1', 'm2']);
  const next = when(second.state, opened);
  expect(messageIds(callOf(next.state).append)).toEqual(['m1']);
  expect(toldBy(next)).toMatchObject([
    { messageId: 'm1', disposition: { kind: 'queued', position: 1 } },
    { messageId: 'm2', disposition: { kind: 'queued', position: 2 } },
    { kind: 'TurnStarted' },
  ]);
});

test('a run that ends starts no record that nobody would wait for', () => {
  const change = when(aSession(), signal('nonsense'), due);
  expect(change.effects).toEqual([{ kind: 'continueAsNew' }]);
  expect(toldBy(when(change.state, opened))).toMatchObject([{ code: 'malformed_signal' }]);
});

test('everything crosses as JSON', () => {
  const state = aSession(
    receives('m0'),
    fails('Defect'),
    receives('m1'),
    receives('m2'),
    receives('m3', { mode: 'queue' }),
    recorded,
  );
  const busy = after(state, fails('ModelBusy'), recorded, recorded);
  const { state: over } = when(busy, signal('nonsense'), due);
  expect(upgradeState(JSON.parse(JSON.stringify(over)) as SessionState)).toEqual(over);
});

test('a suspended session rolls over and stays suspended', () => {
  const suspended = aSession(receives('m1'), fails('AgentUnavailable'), recorded);
  expect(kinds(suspended, signal('nonsense'))).toEqual(['continueAsNew']);
  expect(placeOf(rolledOver(suspended))).toBe('suspended');
});
