import {
  answers,
  asksFor,
  aSession,
  after,
  callOf,
  CHAIN,
  dispositionsOf,
  effectOf,
  effectsOf,
  fails,
  fateOf,
  messageIds,
  noticesOf,
  placeOf,
  queuedIds,
  receives,
  recorded,
  resumes,
  timerFires,
  toldBy,
  toolEnds,
  turnOf,
  when,
} from '../../support/session-builders.js';
import { DEFAULT_PROFILE } from '../../../protocol/liveness.js';

const CASES = [
  ['TranscriptMissing', 'transcript_missing'],
  ['AgentUnavailable', 'agent_unavailable'],
] as const;
const running = () => aSession(receives('m1'));

describe.each(CASES)('%s', (type, reason) => {
  test('of a turn that has not begun suspends the session, with the message at the head of the queue again', () => {
    const state = after(running(), receives('m2'), receives('m3', { mode: 'queue' }), recorded, recorded);
    const change = when(state, fails(type, { message: 'what to do' }));
    expect(change.state).toMatchObject({ turn: null, suspended: { reason, message: 'what to do' }, lastOutcome: null });
    expect(queuedIds(change.state)).toEqual(['m1', 'm2', 'm3']);
    expect(['m1', 'm2', 'm3'].map((id) => fateOf(change.state, id))).toEqual(['pending', 'pending', 'pending']);
    expect(effectOf(change, 'setAttention').attention).toBe('suspended');
    expect(noticesOf(change)).toEqual(['session_suspended']);
    expect(toldBy(change).map((output) => output.kind)).not.toContain('TurnStarted');
    expect(dispositionsOf(change, 'm1')).toEqual([{ kind: 'queued', position: 1 }]);
    expect(effectOf(change, 'record').input).toMatchObject({ status: 'suspended', outcomes: [], items: [] });
  });

  test('keeps what earlier turns handed on, and not the message itself', () => {
    const state = aSession(receives('m0'), fails('Defect'), receives('m1'), fails(type));
    expect(messageIds(state.carried)).toEqual(['m0']);
    expect(messageIds(callOf(after(state, resumes())).append)).toEqual(['m0', 'm1']);
  });

  test('of a turn whose only refusal before was for its profile is one that has not begun', () => {
    const state = after(running(), fails('ProfileChanged', { profile: DEFAULT_PROFILE }), fails(type));
    expect(queuedIds(state)).toEqual(['m1']);
  });

  test.each([
    ['a worker was lost', [fails('WorkerLost')]],
    ['the store was away', [fails('StoreUnavailable'), timerFires]],
    ['the server tried it again', [fails('ProfileChanged', { profile: DEFAULT_PROFILE, attempt: 2 })]],
  ])('of a turn that may have begun (%s) ends it: the store may hold its message', (_, happenings) => {
    const change = when(after(running(), ...happenings), fails(type, { message: 'what to do' }));
    expect(change.state).toMatchObject({ turn: null, suspended: { reason }, queue: [] });
    expect(change.state.lastOutcome).toMatchObject({ outcome: 'interrupted', reason: 'what to do' });
    expect(messageIds(change.state.carried)).toEqual(['m1']);
  });

  test('of a later attempt of the first call ends the turn too', () => {
    expect(after(running(), fails(type, { attempt: 2 })).lastOutcome).toMatchObject({ outcome: 'interrupted' });
    expect(after(running(), fails(type, { attempt: null })).lastOutcome).toMatchObject({ outcome: 'interrupted' });
  });

  test('in the middle of a turn ends it as interrupted and suspends the session', () => {
    const state = after(running(), asksFor('look'), receives('m2'), toolEnds(0), receives('m3'), fails(type));
    expect(state).toMatchObject({ suspended: { reason }, lastOutcome: { outcome: 'interrupted' } });
    expect(queuedIds(state)).toEqual(['m3']);
    expect(state.carried).toMatchObject([{ kind: 'toolResult' }, { messageId: 'm2', turnId: `${CHAIN}-1` }]);
  });
});

describe('a suspended session', () => {
  const suspended = () => after(running(), fails('TranscriptMissing'), recorded);

  test('starts nothing by itself', () => {
    for (const event of [recorded, timerFires, receives('m1'), receives('bad', { text: '' })]) {
      const change = when(suspended(), event);
      expect(placeOf(change.state)).toBe('suspended');
      expect(effectsOf(change, 'callModel')).toEqual([]);
    }
  });

  test('goes on where it stood when a person resumes it', () => {
    const change = when(suspended(), resumes());
    expect(turnOf(change.state)).toMatchObject({ id: `${CHAIN}-2`, source: { key: 'm1' } });
    expect(effectOf(change, 'setAttention').attention).toBe('none');
    expect(noticesOf(change)).toEqual(['session_resumed']);
    expect(after(change.state, answers()).lastOutcome).toMatchObject({ outcome: 'completed' });
  });

  test('goes on from the store’s transcript when a person says so, under ids that the store cannot know', () => {
    const before = aSession(
      receives('m0'),
      answers(),
      receives('m1'),
      asksFor('look'),
      toolEnds(0),
      fails('TranscriptMissing'),
    );
    expect(before).toMatchObject({ head: `${CHAIN}-2.1.out`, carried: [{ kind: 'toolResult' }] });
    const state = after(before, recorded, receives('m2', { mode: 'queue' }), fails('TranscriptMissing'), resumes(true));
    expect(state).toMatchObject({ head: null, carried: [], chain: `${CHAIN}r` });
    expect(callOf(state)).toMatchObject({ callId: `${CHAIN}r-4.1`, append: [{ messageId: 'm2' }] });
  });

  test('that is told of a new message tries again once for it, and is suspended again when nothing got better', () => {
    const trying = after(suspended(), receives('m2'));
    expect(placeOf(trying)).toBe('calling');
    const change = when(trying, fails('TranscriptMissing'));
    expect(queuedIds(change.state)).toEqual(['m1', 'm2']);
    expect(dispositionsOf(change, 'm1')).toEqual([]);
    expect(effectOf(change, 'setAttention').attention).toBe('suspended');
  });
});
