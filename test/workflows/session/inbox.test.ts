import { LIMITS } from '../../../protocol/limits.js';
import type { SessionEvent } from '../../../workflows/session/events.js';
import type { SessionState } from '../../../workflows/session/state.js';
import {
  aMessage,
  answers,
  asksFor,
  aSession,
  after,
  callOf,
  computed,
  dispositionsOf,
  effectOf,
  fails,
  fateOf,
  isRepeat,
  messageIds,
  noticesOf,
  placeOf,
  queuedIds,
  receives,
  recorded,
  reminds,
  resumes,
  rolledOver,
  schedules,
  signal,
  timerFires,
  toldBy,
  toolEnds,
  turnOf,
  when,
} from '../../support/session-builders.js';

const running = () => aSession(receives('m1'));
const longText = 'x'.repeat(LIMITS.inlineTextBytes);

test('a message to an idle session starts its turn, and the call takes what there is to tell', () => {
  const change = when(aSession(), receives('m1', { silent: true }));
  const { input } = effectOf(change, 'callModel');
  expect(change.effects).toHaveLength(1);
  expect(input.append).toMatchObject([
    { kind: 'message', messageId: 'm1', parts: [{ kind: 'text', text: 'text of m1' }] },
  ]);
  expect(input.outputs).toMatchObject([
    { kind: 'MessageReceived', messageId: 'm1', disposition: { kind: 'started', turnId: input.turnId } },
    { kind: 'TurnStarted', turnId: input.turnId, source: { kind: 'message', key: 'm1' }, silent: true },
  ]);
  expect(fateOf(change.state, 'm1')).toBe('pending');
});

describe('a turn that a wake or a reminder started', () => {
  const woken = (): SessionState =>
    after(aSession(schedules({ schedule: { kind: 'interval', everyMs: 60_000 }, prompt: 'look' })), computed(60_000));
  test.each([
    ['a wake', () => after(woken(), timerFires, computed(120_000))],
    ['a reminder', () => aSession(reminds({ reminderId: 'r1', dueMs: 1, prompt: 'look' }))],
    ['a wake of another session', () => aSession(receives('w1:1', { isAutomated: true }))],
  ])('by %s is joined by no message: that has a turn of its own, and is told so', (_, start) => {
    const change = when(after(start(), recorded), receives('m1'));
    expect(turnOf(change.state).steers).toEqual([]);
    expect(dispositionsOf(change, 'm1')).toEqual([{ kind: 'queued', position: 1 }]);
    const next = when(change.state, answers());
    expect(turnOf(next.state).source).toEqual({ kind: 'message', key: 'm1' });
  });

  test('is not joined while its tools run, and the message after it may be joined again', () => {
    const state = after(woken(), timerFires, computed(120_000), asksFor('look'), receives('m1'), toolEnds(0));
    expect(messageIds(callOf(state).append)).toEqual([]);
    expect(turnOf(after(state, answers(), receives('m2'))).steers.map(({ message }) => message.id)).toEqual(['m2']);
  });
});

test("what another session's wake sends joins no turn", () => {
  const state = after(running(), receives('w1:1', { isAutomated: true }));
  expect(queuedIds(state)).toEqual(['w1:1']);
  expect(turnOf(state).steers).toEqual([]);
});

test('a message that is to queue waits for its own turn and is told its place', () => {
  const change = when(after(running(), receives('m2', { mode: 'queue' })), receives('m3', { mode: 'queue' }));
  expect(queuedIds(change.state)).toEqual(['m2', 'm3']);
  const told = when(change.state, recorded);
  expect(dispositionsOf(told, 'm3')).toEqual([{ kind: 'queued', position: 2 }]);
});

test('a message to a running turn may join it unless it says otherwise, and is told so', () => {
  const change = when(running(), receives('m2'));
  const mayJoin = turnOf(change.state).id;
  expect(turnOf(change.state).steers.map((item) => item.message.id)).toEqual(['m2']);
  expect(dispositionsOf(change, 'm2')).toEqual([{ kind: 'queued', position: 1, mayJoin }]);
  expect(queuedIds(change.state)).toEqual([]);
  const second = when(after(change.state, recorded), receives('m3'));
  expect(dispositionsOf(second, 'm3')).toEqual([{ kind: 'queued', position: 2, mayJoin }]);
});

test('queued messages run one after the other, in their order, each told once where it went', () => {
  let state = after(running(), receives('m2', { mode: 'queue' }), receives('m3', { mode: 'queue' }), recorded);
  const opened = [];
  for (let n = 0; n < 3; n++) {
    opened.push(turnOf(state).source.key);
    state = after(state, answers());
  }
  expect(opened).toEqual(['m1', 'm2', 'm3']);
  expect(placeOf(state)).toBe('idle');
});

test('a turn that opens from the queue does not tell its message a second time', () => {
  const state = after(running(), receives('m2', { mode: 'queue' }), recorded);
  const change = when(state, answers());
  expect(dispositionsOf(change, 'm2')).toEqual([]);
  expect(toldBy(change).map((output) => output.kind)).toContain('TurnStarted');
});

describe('a repeat', () => {
  test.each([
    ['of a running message', running(), 'm1', { fate: 'pending', turnId: null }],
    [
      'of a queued message',
      after(running(), receives('m2', { mode: 'queue' }), recorded),
      'm2',
      { fate: 'pending', turnId: null },
    ],
    ['of a steered message', after(running(), receives('m2'), recorded), 'm2', { fate: 'pending', turnId: null }],
    ['of an answered message', after(running(), answers(), recorded), 'm1', { fate: 'answered', turnId: 'c0ffee00-1' }],
  ])('%s changes nothing and is told what became of the first', (_, state, id, first) => {
    const { queue, turn, seen } = state;
    const same = when(state, receives(id));
    expect(same.state).toMatchObject({ queue, turn, seen });
    expect(dispositionsOf(same, id)).toEqual([{ kind: 'duplicate', ...first, contentDiffers: false }]);
    const other = when(state, receives(id, { text: 'other words' }));
    expect(dispositionsOf(other, id)).toEqual([{ kind: 'duplicate', ...first, contentDiffers: true }]);
    expect(other.state).toMatchObject({ queue, turn, seen });
  });

  test('is known over continue-as-new', () => {
    const change = when(rolledOver(aSession(receives('m1'), answers(), recorded)), receives('m1'));
    expect(dispositionsOf(change, 'm1')).toMatchObject([{ kind: 'duplicate', fate: 'answered' }]);
  });
});

describe('the limits', () => {
  const filled = (count: number) =>
    after(
      running(),
      ...Array.from({ length: count }, (_, n) => receives(`q${n}`, { mode: n % 2 ? 'queue' : 'steer' })),
    );

  test('the message that fills the queue is taken, the next one is refused and not remembered', () => {
    const state = after(filled(LIMITS.queuedItems - 1), recorded, recorded);
    const last = after(when(state, receives('last')).state, recorded);
    expect(fateOf(last, 'last')).toBe('pending');
    const change = when(last, receives('over'));
    expect(dispositionsOf(change, 'over')).toEqual([
      {
        kind: 'refused',
        reason: 'queue_full',
        message: expect.stringContaining(`${LIMITS.queuedItems} messages`) as string,
      },
    ]);
    expect(fateOf(change.state, 'over')).toBeUndefined();
    expect(change.state).toMatchObject({ queue: last.queue, turn: last.turn });
  });

  test('a refused message is taken when it comes again and there is room', () => {
    const full = after(filled(LIMITS.queuedItems), recorded, receives('over'));
    const state = after(full, answers(), receives('over'));
    expect(fateOf(state, 'over')).toBe('pending');
  });

  test('messages are refused when together they are too long, whether they wait or are on their way to the model', () => {
    const ids = Array.from({ length: 40 }, (_, n) => `long${n}`);
    const state = after(running(), ...ids.map((id) => receives(id, { text: longText })));
    const taken = ids.filter((id) => fateOf(state, id) === 'pending');
    expect(taken).toHaveLength(31);
    const onTheirWay = after(state, asksFor('look'), toolEnds(0));
    expect(messageIds(callOf(onTheirWay).append)).toHaveLength(31);
    expect(fateOf(after(onTheirWay, receives('more', { text: longText })), 'more')).toBeUndefined();
    expect(fateOf(after(onTheirWay, answers(), receives('more', { text: longText })), 'more')).toBe('pending');
  });

  test('a turn into which too many messages were steered takes no more', () => {
    let state = running();
    for (let n = 0; n < LIMITS.rememberedItems + 40; n++) {
      state = after(state, receives(`s${n}`), recorded);
      if (n % 50 === 49) state = after(state, asksFor('look'), toolEnds(0));
    }
    expect(state.seen.filter((item) => item.fate === 'pending')).toHaveLength(LIMITS.rememberedItems);
    expect(fateOf(state, 's198')).toBe('pending');
    expect(fateOf(state, 's199')).toBeUndefined();
  });
});

test.each<[string, SessionEvent, string]>([
  ['a payload that cannot be read', signal({ id: 'm1' }), 'malformed_signal'],
  ['a signal without arguments', { kind: 'signalReceived', name: 'message', args: [] }, 'malformed_signal'],
  ['a signal of another name', signal(aMessage({ id: 'm1' }), 'wink'), 'unknown_signal'],
  ['a signal with a very long name', signal({}, 'w'.repeat(5_000)), 'unknown_signal'],
])('%s is dropped with a notice and changes nothing else', (_, event, code) => {
  for (const state of [aSession(), running(), aSession(receives('m1'), fails('AgentUnavailable'), recorded)]) {
    const change = when(state, event);
    expect(noticesOf(change)).toEqual([code]);
    const { queue, turn, seen, suspended } = state;
    expect(change.state).toMatchObject({ queue, turn, seen, suspended });
  }
});

describe('items that the session forgot', () => {
  /** So many turns that the first items are forgotten. */
  const forgetful = () => {
    let state = aSession();
    for (let n = 0; n <= LIMITS.rememberedItems; n++) state = after(state, receives(`m${n}`), answers(), recorded);
    return state;
  };

  test('the oldest ended items are forgotten, and no pending one', () => {
    let state = after(aSession(), receives('m0'));
    state = { ...state, seen: [...state.seen, ...forgetful().seen] };
    const next = after(state, receives('new', { mode: 'queue' }));
    expect(next.seen).toHaveLength(LIMITS.rememberedItems);
    expect(next.seen[0]!.id).toBe('m0');
    expect(fateOf(next, 'm2')).toBeUndefined();
    expect(fateOf(next, 'm3')).toBe('answered');
  });

  test('a forgotten item that comes again starts a turn that never was, once the store has recognised it', () => {
    const state = forgetful();
    expect(fateOf(state, 'm0')).toBeUndefined();
    const asked = after(state, receives('m0'));
    const change = when(asked, isRepeat({ turnId: 'c0ffee00-1' }));
    expect(placeOf(change.state)).toBe('idle');
    expect(fateOf(change.state, 'm0')).toBe('answered');
    expect(change.effects).toEqual([]);
    const again = when(change.state, receives('m0'));
    expect(dispositionsOf(again, 'm0')).toMatchObject([{ kind: 'duplicate', fate: 'answered', turnId: 'c0ffee00-1' }]);
  });

  test('a repeat whose first end the store does not know yet is forgotten again', () => {
    const state = after(aSession(receives('m0')), isRepeat({ fate: 'pending' }));
    expect(state.seen).toEqual([]);
    expect(placeOf(after(state, receives('m0')))).toBe('calling');
  });
});

test('a message is the occasion to try a suspended session again', () => {
  const suspended = aSession(receives('m1'), fails('AgentUnavailable'), recorded);
  const change = when(suspended, receives('m2'));
  expect(turnOf(change.state).source.key).toBe('m1');
  expect(queuedIds(change.state)).toEqual(['m2']);
  expect(effectOf(change, 'setAttention').attention).toBe('none');
  expect(dispositionsOf(change, 'm2')).toEqual([{ kind: 'queued', position: 1 }]);
});

test('what is no resume for a session that runs changes nothing', () => {
  for (const state of [aSession(), running()]) {
    expect(when(state, resumes(true))).toEqual({ state, effects: [] });
  }
});
