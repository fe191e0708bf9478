import type { Settlement } from '../../../protocol/calls.js';
import { LIMITS } from '../../../protocol/limits.js';
import type { Effect } from '../../../workflows/session/effects.js';
import type { SessionEvent } from '../../../workflows/session/events.js';
import { brokenBy, brokenOver, type Transition } from '../../../workflows/session/invariants.js';
import type { SessionState, Turn, Wake } from '../../../workflows/session/state.js';
import {
  aChainOf,
  aSessionWith,
  answers,
  cancels,
  closes,
  computed,
  anAnswer,
  asksFor,
  aSession,
  after,
  CHAIN,
  drains,
  fails,
  type Happening,
  isRepeat,
  NOW_MS,
  opened,
  receives,
  recorded,
  resumes,
  schedules,
  stops,
  timerFires,
  toolEnds,
  toolStarves,
  turnOf,
  undrains,
  watching,
  when,
} from '../../support/session-builders.js';

const moment = { nowMs: NOW_MS, rollOverDue: false };
const running = aSession(receives('m1'));
const answered = after(running, answers());
const failed = after(running, fails('Defect'));

/** What really happens, for a test to falsify. */
function taken(before: SessionState, happening: Happening, at = moment): Transition {
  let seen: Transition | null = null;
  watching(
    (transition) => (seen = transition),
    () => when(before, happening, at),
  );
  return seen!;
}

/** A transition that only leads to this state. */
const to = (state: SessionState): Transition => ({ before: state, event: opened, moment, after: state, effects: [] });
const withTurn = (state: SessionState, over: Partial<Turn>): SessionState => ({
  ...state,
  turn: { ...turnOf(state), ...over },
});
const doing = (effects: Effect[], over: Partial<Transition> = {}): Transition => ({ ...to(running), effects, ...over });
const started = taken(aSession(), receives('m1')).effects[0] as Extract<Effect, { kind: 'callModel' }>;
const settling = (over: Partial<Settlement>): Effect => ({
  ...started,
  input: { ...started.input, settlement: { ...started.input.settlement, ...over } },
});
const asked = taken(running, asksFor('look'));
const withTools = after(running, asksFor('look', 'send'));
const starved = taken(running, fails('ScheduleToStartTimeout'));
const fallenBack = taken(aSessionWith(aChainOf('a', 'b'), receives('m1')), fails('ModelRejected'));
const record = taken(running, fails('Defect')).effects[0] as Extract<Effect, { kind: 'record' }>;
const waiting = after(running, fails('ModelBusy'), recorded);
const finished = (result: Extract<SessionEvent, { kind: 'modelFinished' }>['result']): SessionEvent => ({
  ...{ kind: 'modelFinished', callId: `${CHAIN}-1.1`, dispatch: 1, result },
});
const stopped = taken(running, stops());
const stoppedTools = taken(after(running, asksFor('look')), stops());
const draining = after(running, drains);
const suspended = after(running, fails('AgentUnavailable'), recorded);

const INTERVAL = { schedule: { kind: 'interval', everyMs: 60_000 }, prompt: 'look' };
const woken = aSession(schedules(INTERVAL), computed(60_000, 120_000), recorded);
const withWake = (over: Partial<Wake>): SessionState => ({ ...woken, wakes: [{ ...woken.wakes[0]!, ...over }] });
const due = (n: number) => ({ dueMs: NOW_MS + n, text: '' });
const fired = after(woken, timerFires);
const LATER = { ...moment, nowMs: NOW_MS + 60_000 };
const cancelled = taken(woken, cancels({ wake: woken.wakes[0]!.id }));

test.each<[string, Transition]>([
  [
    'the one turn that runs has no outcome yet',
    to({ ...running, lastOutcome: { turnId: turnOf(running).id, outcome: 'failed', reason: null } }),
  ],
  [
    'the one turn that runs has no outcome yet',
    to({ ...running, unrecorded: { outcomes: record.input.outcomes, items: [] } }),
  ],
  [
    'the one turn that runs has no outcome yet',
    to({ ...running, recording: { outcomes: record.input.outcomes, items: [], outputs: [] } }),
  ],
  [
    'an accepted item that has not ended is in exactly one place, and remembered',
    to({ ...running, queue: [turnOf(running).opener] }),
  ],
  ['an accepted item that has not ended is in exactly one place, and remembered', to({ ...running, seen: [] })],
  ['an accepted item that has not ended is in exactly one place, and remembered', to({ ...running, turn: null })],
  [
    'an accepted item that has not ended is in exactly one place, and remembered',
    to({ ...running, seen: [...running.seen, ...running.seen] }),
  ],
  ['an item that waits was told so', to({ ...running, turn: null, queue: [turnOf(running).opener] })],
  ['the timer is armed for nothing but the first thing that is due', to({ ...running, timerAtMs: NOW_MS })],
  ['the timer is armed for nothing but the first thing that is due', to({ ...waiting, timerAtMs: NOW_MS })],
  ['the timer is armed for nothing but the first thing that is due', to({ ...woken, timerAtMs: NOW_MS + 120_000 })],
  ['due times of a wake strictly increase', to(withWake({ fires: [due(2), due(1)] }))],
  ['due times of a wake strictly increase', to(withWake({ lastDueMs: NOW_MS + 60_000 }))],
  [
    'at most one occurrence of a wake waits or runs',
    to({ ...fired, starting: [{ key: `${woken.wakes[0]!.id}:1`, sessionId: 'acme/s2', lateMs: 0 }] }),
  ],
  [
    'what a wake or a reminder started is joined by nobody',
    to(withTurn(fired, { steers: [turnOf(after(running, receives('m2'))).steers[0]!] })),
  ],
  ['a wake has an id and a key of its own', to({ ...woken, wakes: [...woken.wakes, ...woken.wakes] })],
  [
    'a wake has an id and a key of its own',
    to({ ...woken, wakes: ['a', 'b'].map((id) => ({ ...woken.wakes[0]!, id, key: 'k' })) }),
  ],
  ['a wake knows its next due time, or is about to, or is disabled', to(withWake({ fires: [] }))],
  ['a wake knows its next due time, or is about to, or is disabled', to(withWake({ disabled: 'x' }))],
  [
    'nothing of wakes exceeds its limit',
    to({ ...woken, removedKeys: [1, 2].map(() => ({ key: 'k', rank: 'person' as const })) }),
  ],
  [
    'nothing of wakes exceeds its limit',
    to({ ...woken, wakes: Array.from({ length: LIMITS.wakesPerSession + 1 }, () => woken.wakes[0]!) }),
  ],
  ['a closed session has no wake, no turn, and nothing that waits', to({ ...woken, closed: true })],
  ['a closed session has no wake, no turn, and nothing that waits', to({ ...running, closed: true })],
  ['the timer is armed or disarmed at most once', doing([1, 2].map((atMs) => ({ kind: 'armTimer' as const, atMs })))],
  [
    'no wake is left due, unless the run is to roll over, or more cancels are to be read first',
    { ...to(woken), moment: { ...moment, nowMs: NOW_MS + 60_000 } },
  ],
  ['a cancelled wake is absent, from the wakes and from what waits', { ...cancelled, after: woken }],
  [
    'a cancelled wake is absent, from the wakes and from what waits',
    { ...cancelled, after: { ...after(woken, receives('m1'), timerFires), wakes: [] } },
  ],
  ['a request is answered at once, or when its due times are known', { ...cancelled, effects: [] }],
  ['a request is answered at once, or when its due times are known', { ...cancelled, event: opened }],
  [
    'a request is answered at once, or when its due times are known',
    { ...cancelled, event: { kind: 'firesComputed', id: 'u9', result: { kind: 'error', problem: 'x' } } },
  ],
  [
    'what is computed and what is sent is known to be on its way',
    { ...taken(aSession(), schedules(INTERVAL)), after: aSession() },
  ],
  [
    'what is computed and what is sent is known to be on its way',
    doing([
      { kind: 'startSession', key: 'w:1', input: { sessionId: 'a/b', agent: 'x', message: { id: 'w:1', parts: [] } } },
    ]),
  ],
  [
    'nothing is in flight at continue-as-new',
    { ...doing([{ kind: 'continueAsNew' }]), after: aSession(schedules(INTERVAL)) },
  ],
  ['a suspended session runs no turn', to({ ...running, suspended: suspended.suspended })],
  [
    'what a running turn took over from ended ones is its own to hand on',
    to({ ...running, carried: started.input.append }),
  ],
  [
    'a message that is carried is claimed by the turn that took it in',
    to({ ...answered, carried: started.input.append }),
  ],
  ['while a session drains, no turn waits to ask again', to({ ...waiting, draining: true })],
  ['no budget is negative', to(withTurn(running, { used: { ...turnOf(running).used, resumes: -1 } }))],
  ['no output waits in two places', to({ ...running, outbox: started.input.outputs })],
  [
    'no output waits in two places',
    to({
      ...answered,
      outbox: started.input.outputs,
      recording: { outputs: started.input.outputs, outcomes: [], items: [] },
    }),
  ],

  [
    'a tool is dispatched only by a completed call that asked for it, or again when no worker took it or a suspect moves apart',
    { ...asked, event: recorded },
  ],
  [
    'a tool is dispatched only by a completed call that asked for it, or again when no worker took it or a suspect moves apart',
    { ...asked, event: finished({ kind: 'repeated', first: record.input.items[0]! }) },
  ],
  [
    'a tool is dispatched only by a completed call that asked for it, or again when no worker took it or a suspect moves apart',
    { ...asked, event: finished(anAnswer(`${CHAIN}-1.1`)) },
  ],
  [
    'a tool is dispatched only by a completed call that asked for it, or again when no worker took it or a suspect moves apart',
    { ...asked, before: aSession() },
  ],
  [
    'a tool is dispatched only by a completed call that asked for it, or again when no worker took it or a suspect moves apart',
    { ...taken(withTools, toolStarves(0)), before: running },
  ],
  [
    'a tool is dispatched only by a completed call that asked for it, or again when no worker took it or a suspect moves apart',
    { ...asked, event: taken(withTools, toolStarves(1)).event, before: withTools },
  ],
  [
    'waiting for capacity costs nothing else',
    { ...starved, after: withTurn(starved.after, { used: { ...turnOf(starved.after).used, resumes: 1 } }) },
  ],
  [
    'a call goes out again only after a wait, or at the cost of a budget',
    { ...starved, after: withTurn(starved.after, { used: turnOf(running).used }) },
  ],
  [
    'a call is made to the model that its turn stands at, and a turn never goes back',
    doing([{ ...started, input: { ...started.input, link: 1 } }]),
  ],
  [
    'a call is made to the model that its turn stands at, and a turn never goes back',
    { ...fallenBack, before: fallenBack.after, after: fallenBack.before },
  ],
  ['a step starts at most one model call, and the state names it', doing([started])],
  ['a step starts at most one model call, and the state names it', doing([started, started], { before: aSession() })],
  ['a step starts at most one model call, and the state names it', doing([], { before: aSession() })],
  [
    'a call goes out again only after a wait, or at the cost of a budget',
    {
      ...taken(running, fails('WorkerLost')),
      before: withTurn(running, { used: { ...turnOf(running).used, redispatches: 1 } }),
    },
  ],
  [
    'a call is offered no more tries than the resume budget leaves',
    doing([{ ...started, maximumAttempts: 4 }], { before: aSession() }),
  ],
  [
    'no budget is used beyond its limit, whichever profile set it',
    { ...to(withTurn(running, { callCount: 201 })), before: aSession() },
  ],
  [
    'no budget is used beyond its limit, whichever profile set it',
    { ...to(withTurn(running, { used: { ...turnOf(running).used, resumes: 3 } })), before: running },
  ],
  ['nothing is in flight at continue-as-new', doing([{ kind: 'continueAsNew' }])],
  ['nothing is in flight at continue-as-new', doing([{ kind: 'continueAsNew' }], { after: asked.after })],
  ['nothing is in flight at continue-as-new', doing([{ kind: 'continueAsNew' }], { after: failed })],
  ['nothing is in flight at continue-as-new', doing([{ kind: 'continueAsNew' }], { after: waiting })],
  [
    'a call can settle its turn: it knows each of its items, and how many wait',
    doing([settling({ items: [] })], { before: aSession() }),
  ],
  [
    'a call can settle its turn: it knows each of its items, and how many wait',
    doing([settling({ queued: 1 })], { before: aSession() }),
  ],
  ['a call can settle its turn: it knows each of its items, and how many wait', doing([started], { after: answered })],
  ['a suspended session starts no call', doing([started], { after: suspended })],
  ['a suspended session starts no call', doing(asked.effects, { after: suspended })],
  ['the head moves only by a completed call, or by a resume from the store', { ...to(answered), before: running }],
  [
    'the head moves only by a completed call, or by a resume from the store',
    { ...to({ ...answered, head: null }), before: answered, event: resumes(false) },
  ],
  [
    'the head moves only by a completed call, or by a resume from the store',
    { ...to(answered), before: running, event: finished(anAnswer('other')) },
  ],
  ['one record is in flight at a time', doing([record], { before: failed, after: failed })],
  ['one record is in flight at a time', doing([record, record], { after: failed })],
  ['one record is in flight at a time', doing([record])],
  ['what the effects arm is what the state says is armed', doing([{ kind: 'armTimer', atMs: NOW_MS }])],
  ['what the effects arm is what the state says is armed', { ...to(waiting), event: timerFires }],
  ['what is due later has the timer, unless the run is to roll over', to({ ...waiting, timerAtMs: null })],
  [
    'what is due later has the timer, unless the run is to roll over',
    { ...to(waiting), moment: { ...moment, rollOverDue: true } },
  ],
  ['nothing that could run stands still', to(withTurn(running, { step: { kind: 'toDispatch' } }))],
  ['nothing that could run stands still', to({ ...suspended, suspended: null })],
  [
    'nothing that could run stands still',
    to({ ...withTurn(running, { step: { kind: 'toDispatch' } }), draining: true }),
  ],
  [
    'while a session drains, no turn opens and no call goes out again',
    { ...taken(aSession(), receives('m1')), after: draining },
  ],
  [
    'while a session drains, no turn opens and no call goes out again',
    { ...taken(running, fails('WorkerLost')), after: { ...after(running, fails('WorkerLost')), draining: true } },
  ],
  ['a stop of a turn ends it and nothing else', { ...stopped, after: running }],
  ['a stop of a turn ends it and nothing else', { ...stopped, after: failed }],
  ['a stop of a turn ends it and nothing else', { ...stopped, event: stops('other') }],
  ['a stop of a turn ends it and nothing else', { ...stopped, event: stops('other'), after: running }],
  ['a turn that ends before its calls have cancels them all, and no others are cancelled', { ...stopped, effects: [] }],
  [
    'a turn that ends before its calls have cancels them all, and no others are cancelled',
    { ...stoppedTools, effects: [{ kind: 'cancelCalls', ids: ['other'] }] },
  ],
  [
    'a turn that ends before its calls have cancels them all, and no others are cancelled',
    doing([{ kind: 'cancelCalls', ids: [`${CHAIN}-1.1`] }]),
  ],
  [
    'a stopped turn leaves its tools and what it had said to the next call',
    { ...stopped, after: { ...stopped.after, carried: started.input.append } },
  ],
  [
    'a stopped turn leaves its tools and what it had said to the next call',
    { ...stoppedTools, after: { ...stoppedTools.after, carried: [] } },
  ],
  ['a turn that waits for tools waits for one at least', to(withTurn(running, { step: { kind: 'tools', calls: [] } }))],
  [
    'an item that was pending is still known, unless it turned out to be a repeat',
    { ...to(aSession()), before: running },
  ],
  [
    'a turn that ended leaves an outcome to record, unless its last call recorded it or it never began',
    { ...to(aSession()), before: running },
  ],
  [
    'a turn that ended leaves an outcome to record, unless its last call recorded it or it never began',
    { ...taken(running, answers()), after: failed },
  ],
])('it is noticed when it does not hold that %s', (sentence, transition) => {
  expect(brokenBy(transition)).toContain(sentence);
});

test.each<[string, Transition[]]>([
  ['a turn has one outcome, recorded by the session or by its last call', [doing([record]), doing([record])]],
  ['a turn has one outcome, recorded by the session or by its last call', [doing([record]), taken(running, answers())]],
  [
    'a turn has one outcome, recorded by the session or by its last call',
    [taken(running, answers()), taken(running, answers())],
  ],
  ['an id of a turn is given once', [to(running), to(answered), to(running)]],
  ['an id of a call is given once, and its dispatch numbers count up', [doing([started]), doing([started])]],
  [
    'an id of a call is given once, and its dispatch numbers count up',
    [doing([{ ...started, input: { ...started.input, dispatch: 2 } }])],
  ],
  [
    'an id of a call is given once, and its dispatch numbers count up',
    [doing([started]), doing([{ ...started, input: { ...started.input, callId: 'other' } }]), doing([started])],
  ],
  ['a dispatch of a tool call is given once', [asked, asked]],
  [
    'the store is told of each change of draining in its order',
    [2, 1].map((change) => doing([{ ...record, input: { ...record.input, drain: { isDraining: true, change } } }])),
  ],
  ['a due time of a wake starts one thing', [taken(woken, timerFires, LATER), taken(woken, timerFires, LATER)]],
  ['a cancelled wake never fires again', [cancelled, taken(woken, timerFires, LATER)]],
  [
    'a key names one output',
    [
      doing([started]),
      doing([
        {
          ...record,
          input: { ...record.input, outputs: started.input.outputs.map((output) => ({ ...output, turnId: 'other' })) },
        },
      ]),
    ],
  ],
  [
    'a run that rolls over starts nothing more',
    [doing([{ kind: 'continueAsNew' }]), doing([record], { event: receives('m2') })],
  ],
])('it is noticed over a life when it does not hold that %s', (sentence, trace) => {
  expect(brokenOver(trace)).toContain(sentence);
});

test('nothing is noticed in lives as they should be', () => {
  const trace: Transition[] = [];
  watching(
    (transition) => trace.push(transition),
    () => {
      let state = aSession(opened, receives('m1'), receives('m2'), asksFor('look', 'send'), toolEnds(0), toolEnds(1));
      state = after(
        state,
        answers(),
        recorded,
        receives('m1'),
        receives('m3'),
        isRepeat(),
        receives('m4'),
        fails('ModelBusy'),
        timerFires,
      );
      const { state: over } = when(after(state, recorded, recorded), answers(), { rollOverDue: true });
      after(
        JSON.parse(JSON.stringify(over)) as SessionState,
        opened,
        receives('m5'),
        fails('TranscriptMissing'),
        recorded,
        resumes(true),
        answers(),
        receives('m6'),
        stops(),
        receives('m7'),
        asksFor('look', 'send'),
        drains,
        stops(),
        undrains,
        receives('m8'),
        schedules(INTERVAL),
        computed(60_000),
        timerFires,
        cancels({ wake: 'none' }),
        computed(120_000),
        answers(),
        closes(),
        recorded,
      );
    },
  );
  expect(trace.flatMap(brokenBy)).toEqual([]);
  expect(brokenOver(trace)).toEqual([]);
});
