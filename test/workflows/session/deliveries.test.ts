import { LIMITS } from '../../../protocol/limits.js';
import { openSession, upgradeState, type SessionState } from '../../../workflows/session/state.js';
import { isFinished, isQuiet } from '../../../workflows/session/advance.js';
import { toView } from '../../../workflows/session/view.js';
import {
  aFailure,
  after,
  answerOf,
  answers,
  asksFor,
  aSession,
  CHAIN,
  closes,
  computed,
  dispositionsOf,
  drains,
  effectOf,
  effectsOf,
  fails,
  fateOf,
  type Happening,
  noticesOf,
  NOW_MS,
  queuedIds,
  receives,
  recorded,
  reminds,
  rolledOver,
  schedules,
  stops,
  timerFires,
  toolEnds,
  turnOf,
  when,
} from '../../support/session-builders.js';

const TURN = `${CHAIN}-1`;
const withChannel = (channel: string): SessionState =>
  openSession({ sessionId: 'acme/s1', chain: CHAIN, agent: 'coder', channel });

/** The channel takes the oldest delivery over, or not. */
const taken: Happening = ({ deliveries: [first] }) => ({
  ...{ kind: 'deliveryEnded', subject: first!.subject, part: first!.part, failure: null },
});
const notTaken =
  (type: 'ScheduleToStartTimeout' | 'Unknown'): Happening =>
  ({ deliveries: [first] }) => ({
    ...{ kind: 'deliveryEnded', subject: first!.subject, part: first!.part, failure: aFailure(type) },
  });

describe('where an outcome goes', () => {
  test('a turn whose last call recorded its outcome hands it over at once, by reference', () => {
    const ended = when(aSession(receives('m1', { channel: 'hook' })), answers());
    expect(effectOf(ended, 'deliver')).toEqual({
      kind: 'deliver',
      input: { sessionId: 'acme/s1', channel: 'hook', subject: TURN, part: 'outcome' },
      scheduleToStartMs: 60_000,
    });
    expect(toView(ended.state, 1).deliveries).toBe(1);
    expect(after(ended.state, taken).deliveries).toEqual([]);
  });

  test('an outcome that the session records goes when that is done', () => {
    const stopped = when(aSession(receives('m1', { channel: 'hook' })), stops());
    expect(effectsOf(stopped, 'deliver')).toEqual([]);
    expect(effectOf(when(stopped.state, recorded), 'deliver').input.subject).toBe(TURN);
  });

  test('a session has a channel of its own, which a message may overrule', () => {
    const state = withChannel('log');
    expect(toView(state, 1).channel).toBe('log');
    expect(effectOf(when(after(state, receives('m1')), answers()), 'deliver').input.channel).toBe('log');
    const other = after(state, receives('m1', { channel: 'hook' }));
    expect(effectOf(when(other, answers()), 'deliver').input.channel).toBe('hook');
  });

  test('without a channel nothing is scheduled, and a silent turn stays in the journal', () => {
    expect(effectsOf(when(aSession(receives('m1')), answers()), 'deliver')).toEqual([]);
    const silent = aSession(receives('m1', { channel: 'hook', silent: true }));
    expect(effectsOf(when(silent, answers()), 'deliver')).toEqual([]);
  });

  test('a message that wants its answer elsewhere joins no turn', () => {
    const running = aSession(receives('m1', { channel: 'hook' }));
    const same = after(running, receives('m2', { channel: 'hook' }), receives('m3'));
    expect(turnOf(same).steers.map(({ message }) => message.id)).toEqual(['m2', 'm3']);
    expect(queuedIds(after(running, receives('m4', { channel: 'other' })))).toEqual(['m4']);
  });

  test('a message that came too late to join keeps its channel', () => {
    const late = aSession(receives('m1', { channel: 'hook' }), receives('m2', { channel: 'hook' }), answers());
    expect(turnOf(late)).toMatchObject({ source: { key: 'm2' }, channel: 'hook' });
  });

  test('a reminder and a wake name theirs', () => {
    const reminded = aSession(reminds({ reminderId: 'r', dueMs: 1, prompt: 'p', channel: 'hook' }));
    expect(turnOf(reminded).channel).toBe('hook');
    const wake = { schedule: { kind: 'once', inMs: 1_000 }, prompt: 'p', channel: 'hook' };
    const asked = when(aSession(), schedules(wake));
    expect(effectOf(asked, 'computeFires').input.channel).toBe('hook');
    const scheduled = when(asked.state, computed(1_000));
    expect(answerOf(scheduled)).toMatchObject({ kind: 'scheduled', wake: { channel: 'hook' } });
    const woken = when(scheduled.state, timerFires);
    expect(turnOf(woken.state).channel).toBe('hook');
    // It was checked when the wake was made.
    expect(effectOf(woken, 'callModel').input.channel).toBeUndefined();
  });

  test('a wake for another session takes its channel along', () => {
    const target = { kind: 'new', name: 'report-{due}' };
    const wake = { schedule: { kind: 'once', inMs: 1_000 }, prompt: 'p', channel: 'hook', target };
    const woken = when(aSession(schedules(wake), computed(1_000)), timerFires);
    expect(effectOf(woken, 'startSession').input.message.channel).toBe('hook');
  });

  test('a wake that an agent schedules reports to where its turn does, one by a person does not', () => {
    const running = aSession(receives('m1', { channel: 'hook' }));
    const wake = { schedule: { kind: 'once', inMs: 1_000 }, prompt: 'p' };
    const channelOf = (by: object) => effectOf(when(running, schedules({ ...wake, by })), 'computeFires').input.channel;
    expect(channelOf({ rank: 'agent' })).toBe('hook');
    expect(channelOf({ rank: 'person' })).toBeUndefined();
    const plain = effectOf(
      when(aSession(receives('m1')), schedules({ ...wake, by: { rank: 'agent' } })),
      'computeFires',
    );
    expect(plain.input.channel).toBeUndefined();
  });

  test('wakes of older versions have none', () => {
    const state = aSession(schedules({ schedule: { kind: 'once', inMs: 1_000 }, prompt: 'p' }), computed(1_000));
    const { channel: _, ...older } = state.wakes[0]!;
    expect(upgradeState({ ...state, wakes: [older] }).wakes).toEqual(state.wakes);
    const { wakes: _wakes, channel: _channel, deliveries: _d, undelivered: _u, ...first } = state;
    expect(upgradeState(first)).toMatchObject({ wakes: [], channel: null, deliveries: [], undelivered: [] });
  });
});

describe('a name that is none', () => {
  const bad = { channel: 'no channel' };

  test('is refused with a message, a reminder and a wake', () => {
    expect(noticesOf(when(aSession(), receives('m1', bad)))).toEqual(['malformed_signal']);
    const reminder = { reminderId: 'r', dueMs: 1, prompt: 'p', ...bad };
    expect(noticesOf(when(aSession(), reminds(reminder)))).toEqual(['malformed_signal']);
    const wake = { schedule: { kind: 'once', inMs: 1_000 }, prompt: 'p', ...bad };
    expect(answerOf(when(aSession(), schedules(wake)))).toMatchObject({ problems: [/"channel" must/] });
  });
});

describe('a channel that is not declared', () => {
  test('refuses the message before anything is asked, and what waits runs', () => {
    const running = aSession(receives('m1', { channel: 'gone' }), receives('m2', { mode: 'queue' }));
    expect(turnOf(running).channel).toBe('gone');
    const refused = when(running, fails('ChannelUndeclared', { message: 'declare it' }));
    expect(dispositionsOf(refused, 'm1').at(-1)).toEqual({
      ...{ kind: 'refused', reason: 'channel_undeclared', message: 'declare it' },
    });
    expect(fateOf(refused.state, 'm1')).toBe('refused');
    expect(turnOf(refused.state).source.key).toBe('m2');
    expect(effectsOf(refused, 'deliver')).toEqual([]);
  });

  test('is asked of with the first call alone', () => {
    const first = when(aSession(), receives('m1', { channel: 'hook' }));
    expect(effectOf(first, 'callModel').input.channel).toBe('hook');
    const second = when(after(first.state, asksFor('look')), toolEnds(0));
    expect(effectOf(second, 'callModel').input.channel).toBeUndefined();
  });

  test('fails a turn that may have begun', () => {
    const running = aSession(receives('m1', { channel: 'gone' }), fails('WorkerLost'));
    const failed = when(running, fails('ChannelUndeclared'));
    expect(failed.state.lastOutcome).toMatchObject({ outcome: 'failed' });
  });
});

describe('a channel that does not take a delivery', () => {
  const ended = aSession(receives('m1', { channel: 'hook' }), answers());

  test('because nobody serves it leaves a dead letter and a notice, and no failure', () => {
    const given = when(ended, notTaken('ScheduleToStartTimeout'));
    expect(noticesOf(given)).toEqual(['channel_not_registered']);
    const delivery = { channel: 'hook', subject: TURN, part: 'outcome' };
    expect(effectOf(given, 'record').input.undelivered).toEqual([
      { ...delivery, reason: expect.stringMatching(/^channel_not_registered: /) as string },
    ]);
    expect(given.state).toMatchObject({ deliveries: [], undelivered: [], lastOutcome: { outcome: 'completed' } });
  });

  test('for another reason says that reason', () => {
    expect(noticesOf(when(ended, notTaken('Unknown')))).toEqual(['delivery_failed']);
  });

  test('does not hold up the next turn', () => {
    expect(turnOf(after(ended, receives('m2'))).source.key).toBe('m2');
  });

  test('is reported once', () => {
    const { state } = when(ended, taken);
    const again = { kind: 'deliveryEnded', subject: TURN, part: 'outcome', failure: aFailure('Unknown') } as const;
    expect(when(state, again).state).toEqual(state);
  });
});

describe('a roll-over', () => {
  test('does not wait, and the next run hands over again within the time that is left', () => {
    const ended = aSession(receives('m1', { channel: 'hook' }), answers());
    expect(isQuiet(ended)).toBe(true);
    const carried = JSON.parse(JSON.stringify(ended)) as SessionState;
    const next = when(carried, { kind: 'opened' }, { nowMs: NOW_MS + 20_000 });
    expect(effectOf(next, 'deliver')).toMatchObject({ input: { subject: TURN }, scheduleToStartMs: 40_000 });
    const later = when(carried, { kind: 'opened' }, { nowMs: NOW_MS + 100_000 });
    expect(effectOf(later, 'deliver').scheduleToStartMs).toBe(1_000);
  });

  test('hands over nothing more when it is due', () => {
    const running = aSession(receives('m1', { channel: 'hook' }));
    const ended = when(running, answers(), { rollOverDue: true });
    expect(effectsOf(ended, 'deliver')).toEqual([]);
    expect(effectsOf(ended, 'continueAsNew')).toHaveLength(1);
    expect(rolledOver(ended.state).deliveries).toMatchObject([{ isOut: true }]);
  });
});

test('a closed session ends when its deliveries have', () => {
  const closed = aSession(receives('m1', { channel: 'hook' }), closes(), recorded);
  expect(closed.deliveries).toHaveLength(1);
  expect(isFinished(closed)).toBe(false);
  expect(isFinished(after(closed, taken))).toBe(true);
});

test('too many that wait are dead letters at once', () => {
  const full = Array.from({ length: LIMITS.deliveriesOnTheirWay }, (_, n) => [
    receives(`m${n}`, { channel: 'hook' }),
    answers(),
  ]).flat();
  const ended = when(aSession(...full, receives('last', { channel: 'hook' })), answers());
  expect(ended.state.deliveries).toHaveLength(LIMITS.deliveriesOnTheirWay);
  expect(noticesOf(ended)).toEqual(['delivery_failed']);
  expect(effectOf(ended, 'record').input.undelivered).toHaveLength(1);
});

test('a suspended session tells the channel of the turn that it stands still, too', () => {
  const suspended = when(
    aSession(receives('m1', { channel: 'hook' })),
    fails('AgentUnavailable', { message: 'no agent' }),
  );
  expect(effectOf(suspended, 'deliver').input).toEqual({
    ...{ sessionId: 'acme/s1', channel: 'hook', subject: `${TURN}.1.1/suspended`, part: 'notice' },
    notice: { code: 'session_suspended', message: 'no agent' },
  });
  const silent = when(aSession(receives('m1')), fails('AgentUnavailable'));
  expect(effectsOf(silent, 'deliver')).toEqual([]);
});

test('a session that drains still delivers', () => {
  const drained = aSession(receives('m1', { channel: 'hook' }), drains);
  expect(effectsOf(when(drained, answers()), 'deliver')).toHaveLength(1);
});
