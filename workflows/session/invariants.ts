import type { AppendItem } from '../../protocol/calls.js';
import { itemIdOf, occurrenceOf, sourceOf } from '../../protocol/fates.js';
import { LIMITS } from '../../protocol/limits.js';
import type { Profile } from '../../protocol/liveness.js';
import type { NewOutput } from '../../protocol/outputs.js';
import type { Effect } from './effects.js';
import { isKeptCancel, type Moment, type SessionEvent } from './events.js';
import { occurrenceKeys } from './occurrences.js';
import type { SessionState, Turn } from './state.js';
import { isAutomated, openCall } from './turns.js';
import { spreadMs } from './wakes.js';

/**
 * What must be true of every session at every moment, as one-sentence predicates that unit tests and the simulation share.
 * Nothing that runs in production calls them.
 */

/** One call of `transition`. */
export interface Transition {
  before: SessionState;
  event: SessionEvent;
  moment: Moment;
  after: SessionState;
  effects: Effect[];
}

type Invariants<Subject> = Record<string, (subject: Subject) => boolean>;

/** Sentences that do not hold after a transition. */
export function brokenBy(transition: Transition): string[] {
  return [...broken(OF_STATES, transition.after), ...broken(OF_TRANSITIONS, transition)];
}

/** Sentences that do not hold over a session's life, continue-as-new included. */
export function brokenOver(trace: readonly Transition[]): string[] {
  return broken(OF_TRACES, trace);
}

function broken<Subject>(invariants: Invariants<Subject>, subject: Subject): string[] {
  return Object.entries(invariants).flatMap(([sentence, holds]) => (holds(subject) ? [] : [sentence]));
}

const OF_STATES: Invariants<SessionState> = {
  'the one turn that runs has no outcome yet': ({ turn, unrecorded, recording, lastOutcome }) =>
    turn === null ||
    ![...unrecorded.outcomes, ...(recording?.outcomes ?? []), lastOutcome].some((ended) => ended?.turnId === turn.id),

  'an accepted item that has not ended is in exactly one place, and remembered': (state) => {
    const placed = placesOf(state);
    const pending = state.seen.filter((item) => item.fate === 'pending').map((item) => item.id);
    return isUnique(placed) && isUnique(pending) && isSame(placed, pending);
  },

  'an item that waits was told so': ({ queue, turn }) =>
    [...queue, ...(turn?.steers ?? [])].every((item) => item.announced),

  'the timer is armed for nothing but the first thing that is due': (state) =>
    state.timerAtMs === null || state.timerAtMs === Math.min(...dueInstants(state)),

  'due times of a wake strictly increase': ({ wakes }) =>
    wakes.every(({ fires, lastDueMs }) =>
      fires.every(({ dueMs }, n) => dueMs > (fires[n - 1]?.dueMs ?? lastDueMs ?? -Infinity)),
    ),

  'at most one occurrence of a wake waits or runs': (state) =>
    isUnique(occurrenceKeys(state).map((key) => occurrenceOf(key).id)),

  'a wake has an id and a key of its own': ({ wakes }) =>
    isUnique(wakes.map(({ id }) => id)) && isUnique(wakes.flatMap(({ key }) => key ?? [])),

  'a wake knows its next due time, or is about to, or is disabled': ({ wakes, computing }) =>
    wakes.every(
      ({ id, fires, needsFires, disabled }) =>
        (disabled === null) !== (fires.length === 0 && !needsFires && !computing.some((request) => request.id === id)),
    ),

  'a wake that is paused is disabled, and the agent has woken itself too often': ({ wakes, selfMadeFires }) =>
    selfMadeFires <= LIMITS.selfMadeFires &&
    wakes.every(({ paused, disabled }) => paused === null || (disabled !== null && selfMadeFires > 0)),

  'nothing of wakes exceeds its limit': ({ wakes, removedKeys }) =>
    wakes.length <= LIMITS.wakesPerSession &&
    removedKeys.length <= LIMITS.removedWakeKeys &&
    isUnique(removedKeys.map(({ key }) => key)),

  'a closed session has no wake, no turn, and nothing that waits': ({ closed, wakes, turn, queue }) =>
    !closed || wakes.length + queue.length + (turn ? 1 : 0) === 0,

  'what a wake or a reminder started is joined by nobody': ({ turn }) =>
    turn === null || !isAutomated(turn) || turn.steers.length === 0,
  'deliveries on their way are few, and each is one': ({ deliveries, undelivered }) =>
    deliveries.length <= LIMITS.deliveriesOnTheirWay &&
    isUnique([...deliveries, ...undelivered].map(({ subject, part }) => `${subject}/${part}`)),

  'an outcome is handed over to its channel only when it was recorded': ({ deliveries, unrecorded, recording }) => {
    const waiting = new Set([...unrecorded.outcomes, ...(recording?.outcomes ?? [])].map(({ turnId }) => turnId));
    return deliveries.every(({ subject, isOut }) => !isOut || !waiting.has(subject));
  },

  'a suspended session runs no turn': ({ suspended, turn }) => suspended === null || turn === null,

  'what a running turn took over from ended ones is its own to hand on': ({ turn, carried }) =>
    turn === null || carried.length === 0,

  'a message that is carried is claimed by the turn that took it in': ({ carried }) =>
    carried.every((item) => item.kind !== 'message' || item.turnId !== undefined),

  'while a session drains, no turn waits to ask again': ({ draining, turn }) =>
    !draining || turn?.step.kind !== 'waiting',

  'no budget is negative': ({ turn }) => turn === null || Object.values(turn.used).every((used) => used >= 0),

  'no output waits in two places': (state) => isUnique(waitingOutputs(state).map((output) => output.key)),
};

const BUDGETS: [used: (turn: Turn) => number, limit: (profile: Profile) => number][] = [
  [(turn) => turn.callCount, (profile) => profile.stepsPerTurn],
  [(turn) => turn.used.resumes, (profile) => profile.resumesPerTurn],
  [(turn) => turn.used.redispatches, (profile) => profile.redispatchesPerTurn],
  [(turn) => turn.used.providerWaitMs, (profile) => profile.providerWaitPerTurnMs],
  [(turn) => turn.used.capacityWaitMs, (profile) => profile.capacityWaitPerTurnMs],
  [(turn) => turn.failedLinks.length, ({ links }) => (links?.length ?? 1) - 1],
];

/** Events that may end a turn whose calls are still in flight. */
const STOPS: ReadonlySet<SessionEvent['kind']> = new Set(['stopRequested', 'wakeCancelRequested', 'closeRequested']);
const isStop = (event: SessionEvent): boolean => STOPS.has(event.kind) || isKeptCancel(event);

const OF_TRANSITIONS: Invariants<Transition> = {
  'a tool is dispatched only by a completed call that asked for it, or again when no worker took it or a suspect moves apart':
    ({ before, event, effects }) => {
      const tools = ofKind(effects, 'callTool').map((effect) => effect.input);
      if (tools.length === 0) return true;
      if (event.kind === 'toolFailed' && ['ScheduleToStartTimeout', 'WorkerLost'].includes(event.failure.type)) {
        return tools.every(
          ({ toolCallId }) => toolCallId === event.toolCallId && idsInFlight(before).includes(toolCallId),
        );
      }
      if (event.kind !== 'modelFinished' || event.result.kind !== 'toolCalls') return false;
      const isOfCall = tools.every((tool) => tool.callId === event.callId && tool.turnId === before.turn?.id);
      const asked = event.result.toolCalls.map((call) => call.toolCallId);
      return (
        isOfCall &&
        isSame(
          tools.map((tool) => tool.toolCallId),
          asked,
        )
      );
    },

  'a step starts at most one model call, and the state names it': ({ before, after, effects }) => {
    const started = ofKind(effects, 'callModel').map(({ input }) => `${input.callId}/${input.dispatch}`);
    const isNew = inFlight(after) !== null && inFlight(after) !== inFlight(before);
    return isSame(started, isNew ? [inFlight(after)!] : []);
  },

  'a call goes out again only after a wait, or at the cost of a budget': ({ before, event, after }) => {
    const isAgain = inFlight(after) !== inFlight(before) && dispatchOf(after) > 1;
    if (!isAgain || event.kind === 'timerFired') return true;
    if (event.kind === 'modelFailed' && event.failure.type === 'ScheduleToStartTimeout') {
      return after.turn!.used.capacityWaitMs > before.turn!.used.capacityWaitMs;
    }
    const spent = ({ turn }: SessionState) =>
      turn!.used.redispatches + turn!.used.profileChanges + turn!.failedLinks.length;
    return spent(after) === spent(before) + 1;
  },

  'waiting for capacity costs nothing else': ({ before, event, after }) => {
    if (event.kind !== 'modelFailed' && event.kind !== 'toolFailed') return true;
    if (event.failure.type !== 'ScheduleToStartTimeout' || event.failure.attempt !== 1) return true;
    if (before.turn?.id !== after.turn?.id || !before.turn || !after.turn) return true;
    const { capacityWaitMs: _, ...costs } = after.turn.used;
    return Object.entries(costs).every(([budget, used]) => before.turn!.used[budget as keyof typeof costs] === used);
  },

  'a call is made to the model that its turn stands at, and a turn never goes back': ({ before, after, effects }) => {
    const { turn, profile } = after;
    const last = (profile.links?.length ?? 1) - 1;
    const isAtLink = ofKind(effects, 'callModel').every(
      ({ input }) => (input.link ?? 0) === Math.min(turn?.failedLinks.length ?? 0, last),
    );
    const failedBefore = before.turn?.id === turn?.id ? (before.turn?.failedLinks.length ?? 0) : 0;
    return isAtLink && (turn?.failedLinks.length ?? 0) >= failedBefore;
  },

  'a call is offered no more tries than the resume budget leaves': ({ after, effects }) =>
    ofKind(effects, 'callModel').every(({ maximumAttempts, profile }) => {
      const left = Math.max(0, profile.resumesPerTurn - (after.turn?.used.resumes ?? 0));
      return maximumAttempts === 1 + left;
    }),

  'no budget is used beyond its limit, whichever profile set it': ({ before, after: { turn, profile } }) => {
    if (turn === null) return true;
    const earlier = before.turn?.id === turn.id ? before.turn : null;
    return BUDGETS.every(([used, limit]) => {
      const limits = [limit(profile), limit(before.profile), earlier ? used(earlier) : 0];
      return used(turn) <= Math.max(...limits);
    });
  },

  'nothing is in flight at continue-as-new': ({ after, effects }) => {
    if (ofKind(effects, 'continueAsNew').length === 0) return true;
    const step = after.turn?.step.kind;
    const isComputing = after.computing.length + after.starting.length > 0;
    const isBusy = step === 'calling' || step === 'tools' || after.recording !== null || isComputing;
    return !isBusy && after.timerAtMs === null;
  },

  'a call can settle its turn: it knows each of its items, and how many wait': ({ after: { turn, queue }, effects }) =>
    ofKind(effects, 'callModel').every(({ input: { settlement } }) => {
      const itemIds = settlement.items.map((item) => item.itemId);
      return isSame(itemIds, turn?.itemIds ?? []) && settlement.queued === queue.length;
    }),

  'a suspended session starts no call': ({ after, effects }) =>
    after.suspended === null || !effects.some(({ kind }) => kind === 'callModel' || kind === 'callTool'),

  'the head moves only by a completed call, or by a resume from the store': ({ before, event, after }) => {
    if (after.head === before.head) return true;
    if (event.kind === 'resumeRequested') return event.fromStore && after.head === null;
    return event.kind === 'modelFinished' && event.result.kind !== 'repeated' && event.result.head === after.head;
  },

  'one record is in flight at a time': ({ before, event, effects, after }) => {
    const records = ofKind(effects, 'record').length;
    const wasFree = before.recording === null || event.kind === 'recorded';
    return records === 0 || (records === 1 && wasFree && after.recording !== null);
  },

  'what the effects arm is what the state says is armed': ({ before, event, after, effects }) => {
    const was = event.kind === 'timerFired' ? null : before.timerAtMs;
    const armed = ofKind(effects, 'armTimer').reduce((_, effect) => effect.atMs, was);
    return armed === after.timerAtMs;
  },

  'what is due later has the timer, unless the run is to roll over': ({ moment, after }) =>
    dueInstants(after).length === 0 || (after.timerAtMs === null) === moment.rollOverDue,

  'the timer is armed or disarmed at most once': ({ effects }) => ofKind(effects, 'armTimer').length <= 1,

  'no wake is left due, unless the run is to roll over, or more cancels are to be read first': ({
    moment,
    event,
    after,
  }) => moment.rollOverDue || isKeptCancel(event) || wakeInstants(after).every((instant) => instant > moment.nowMs),

  'a cancelled wake is absent, from the wakes and from what waits': ({ event, after, effects }) => {
    const cancelled = event.kind === 'wakeCancelRequested' && ofKind(effects, 'answer')[0]?.answer;
    if (!cancelled || cancelled.kind !== 'cancelled') return true;
    const { wakeId } = cancelled;
    const waits = after.queue.map(({ message }) => sourceOf(message.id));
    return (
      after.wakes.every(({ id }) => id !== wakeId) &&
      waits.every(({ kind, key }) => kind !== 'wake' || occurrenceOf(key).id !== wakeId)
    );
  },

  'a request is answered at once, or when its due times are known': ({ event, after, effects }) => {
    const answers = ofKind(effects, 'answer').map(({ requestId }) => requestId);
    if (event.kind === 'firesComputed') return answers.every((id) => id === event.id);
    if (!('requestId' in event)) return answers.length === 0;
    const isLeft = after.computing.some(({ id }) => id === event.requestId);
    return isSame(answers, isLeft ? [] : [event.requestId]);
  },

  'what is computed and what is sent is known to be on its way': ({ after, effects }) => {
    const computing = new Set(after.computing.map(({ id }) => id));
    const starting = new Set(after.starting.map(({ key }) => key));
    return (
      ofKind(effects, 'computeFires').every(({ id }) => computing.has(id)) &&
      ofKind(effects, 'startSession').every(({ key }) => starting.has(key))
    );
  },

  'nothing that could run stands still': ({ moment, after: { suspended, draining, turn, queue } }) =>
    moment.rollOverDue ||
    suspended !== null ||
    (turn ? turn.step.kind !== 'toDispatch' : draining || queue.length === 0),

  'while a session drains, no turn opens and no call goes out again': ({ after, effects, before }) =>
    !after.draining ||
    (after.turnCount === before.turnCount &&
      (dispatchOf(after) <= 1 || inFlight(after) === inFlight(before) || isAnotherProfile(before, after, effects))),

  'a stop of a turn ends it and nothing else': ({ before, event, after, effects }) => {
    if (event.kind !== 'stopRequested') return true;
    const isMeant = before.turn !== null && (event.turnId === null || event.turnId === before.turn.id);
    if (isMeant) return after.turn?.id !== before.turn?.id && after.lastOutcome?.outcome === 'aborted';
    return after.turn?.id === before.turn?.id && !effects.some(({ kind }) => kind === 'cancelCalls');
  },

  'a turn that ends before its calls have cancels them all, and no others are cancelled': (transition) => {
    const { before, event, effects } = transition;
    const cancelled = ofKind(effects, 'cancelCalls').flatMap(({ ids }) => ids);
    const isStopped = isStop(event) && before.turn?.id !== transition.after.turn?.id;
    return isSame(cancelled, isStopped ? idsInFlight(before) : []);
  },

  'a stopped turn leaves its tools and what it had said to the next call': ({ before, event, after }) => {
    const step = before.turn?.step;
    if (!isStop(event) || !step || before.turn?.id === after.turn?.id) return true;
    const left = [
      ...after.carried,
      ...(after.turn?.next ?? []),
      ...((after.turn && openCall(after.turn)?.append) ?? []),
    ];
    const isLeft = (id: string) => left.some((item) => leftIdOf(item) === id);
    if (step.kind === 'tools') return step.calls.every((call) => isLeft(call.toolCallId));
    return step.kind === 'toDispatch' || isLeft(step.call.callId);
  },

  'a turn that waits for tools waits for one at least': ({ after: { turn } }) =>
    turn?.step.kind !== 'tools' || turn.step.calls.some((call) => !call.done),

  'an item that was pending is still known, unless it turned out to be a repeat': ({ before, event, after }) => {
    const repeats = new Set(repeatsIn(event));
    const known = new Set(after.seen.map((item) => item.id));
    return placesOf(before).every((id) => known.has(id) || repeats.has(id));
  },

  'what goes to channels is known to be out, and what is known to be out went': ({ before, event, after, effects }) => {
    const keyOf = ({ subject, part }: { subject: string; part: string }) => `${subject}/${part}`;
    const outOf = ({ deliveries }: SessionState) => deliveries.filter(({ isOut }) => isOut).map(keyOf);
    const known = new Set(event.kind === 'opened' ? [] : outOf(before));
    const sent = ofKind(effects, 'deliver').map(({ input }) => keyOf(input));
    return isSame(
      sent,
      outOf(after).filter((key) => !known.has(key)),
    );
  },

  'the outcome of a turn with a channel is put on its way, unless the turn is silent or never began': (transition) => {
    const { before, after } = transition;
    const { turn } = before;
    if (!turn || after.turn?.id === turn.id || turn.channel === undefined || turn.silent) return true;
    const outcomes = [...after.unrecorded.outcomes, ...(after.recording?.outcomes ?? [])];
    const hasOutcome = outcomes.some(({ turnId }) => turnId === turn.id) || settledBy(transition) === turn.id;
    const undelivered = [...after.undelivered, ...(after.recording?.undelivered ?? [])];
    const isRouted = [...after.deliveries, ...undelivered].some(
      ({ subject, part }) => subject === turn.id && part === 'outcome',
    );
    return isRouted === hasOutcome;
  },

  'a turn that ended leaves an outcome to record, unless its last call recorded it or it never began': (transition) => {
    const { before, event, after } = transition;
    const { turn } = before;
    if (turn === null || after.turn?.id === turn.id) return true;
    const outcomes = [...after.unrecorded.outcomes, ...(after.recording?.outcomes ?? [])];
    const isRepeat = event.kind === 'modelFinished' && event.result.kind === 'repeated';
    const isBack = after.queue[0]?.message.id === itemIdOf(turn.source);
    const isRefused = after.seen.some(({ id, fate }) => id === itemIdOf(turn.source) && fate === 'refused');
    const isElsewhere = settledBy(transition) !== null || isRepeat || isBack || isRefused;
    return outcomes.some((ended) => ended.turnId === turn.id) !== isElsewhere;
  },
};

/** Of a run that rolls over: a request that came late is still answered, and the run waits for that. */
const STILL_ALLOWED: ReadonlySet<Effect['kind']> = new Set(['continueAsNew', 'setAttention', 'answer', 'computeFires']);

const OF_TRACES: Invariants<readonly Transition[]> = {
  'a turn has one outcome, recorded by the session or by its last call': (trace) => {
    const byCalls = trace.map(settledBy).filter((turnId) => turnId !== null);
    const bySession = records(trace).flatMap(({ input }) => input.outcomes.map((each) => each.turnId));
    return isUnique([...byCalls, ...bySession]);
  },

  'an id of a turn is given once': (trace) => isUnique(changes(trace.map(({ after }) => after.turn?.id ?? null))),

  'an id of a call is given once, and its dispatch numbers count up': (trace) => {
    const calls = effectsOf(trace, 'callModel').map(({ input }) => input);
    const isUp = calls.every(
      ({ callId, dispatch }, n) => dispatch === (calls[n - 1]?.callId === callId ? calls[n - 1]!.dispatch : 0) + 1,
    );
    return isUp && isUnique(changes(calls.map((call) => call.callId)));
  },

  'a dispatch of a tool call is given once': (trace) =>
    isUnique(effectsOf(trace, 'callTool').map(({ input, dispatch }) => `${input.toolCallId}/${dispatch}`)),

  'the store is told of each change of draining in its order': (trace) => {
    const told = records(trace).flatMap(({ input: { chain, drain } }) => (drain ? [{ chain, ...drain }] : []));
    return told.every((each, n) => told[n - 1]?.chain !== each.chain || told[n - 1]!.change < each.change);
  },

  'a due time of a wake starts one thing': (trace) =>
    isUnique(trace.flatMap(({ before, after }) => newOccurrences(before, after))),

  'a cancelled wake never fires again': (trace) => {
    const gone = new Set<string>();
    return trace.every(({ before, after, effects }) => {
      const isQuiet = newOccurrences(before, after).every((key) => !gone.has(occurrenceOf(key).id));
      for (const { answer } of ofKind(effects, 'answer')) if (answer.kind === 'cancelled') gone.add(answer.wakeId);
      return isQuiet;
    });
  },

  'a key names one output': (trace) => {
    const known = new Map<string, string>();
    const outputs = [...effectsOf(trace, 'callModel'), ...records(trace)].flatMap(({ input }) => input.outputs);
    return outputs.every((output) => {
      const text = JSON.stringify(output);
      const first = known.get(output.key) ?? text;
      known.set(output.key, first);
      return first === text;
    });
  },

  'a run that rolls over starts nothing more': (trace) => {
    const isOver = trace.map(({ effects }) => ofKind(effects, 'continueAsNew').length > 0);
    return trace.every(
      ({ event, effects }, n) =>
        !isOver[n - 1] || event.kind === 'opened' || effects.every(({ kind }) => STILL_ALLOWED.has(kind)),
    );
  },
};

/** Instants at which wakes fire or end. */
function wakeInstants(state: SessionState): number[] {
  return state.wakes.flatMap((wake) => {
    const [next] = wake.fires;
    const instants = next ? [next.dueMs + spreadMs(state, wake)] : [];
    return wake.expiresAtMs === null ? instants : [...instants, wake.expiresAtMs];
  });
}

function dueInstants(state: SessionState): number[] {
  const step = state.turn?.step;
  return step?.kind === 'waiting' ? [step.untilMs, ...wakeInstants(state)] : wakeInstants(state);
}

/** Occurrences that a transition made. One that goes back to the queue was there before. */
function newOccurrences(before: SessionState, after: SessionState): string[] {
  const known = new Set(occurrenceKeys(before));
  return occurrenceKeys(after).filter((key) => !known.has(key));
}

/** Ids of every item that waits or runs, once for each place. */
function placesOf({ queue, turn }: SessionState): string[] {
  return [...[...queue, ...(turn?.steers ?? [])].map((item) => item.message.id), ...(turn?.itemIds ?? [])];
}

function waitingOutputs({ outbox, recording, turn }: SessionState): NewOutput[] {
  return [...outbox, ...(recording?.outputs ?? []), ...((turn && openCall(turn)?.outputs) ?? [])];
}

/** The turn that ended because its last call had settled it. */
function settledBy({ before: { turn }, event, after }: Transition): string | null {
  if (turn === null || after.turn?.id === turn.id) return null;
  return event.kind === 'modelFinished' && event.result.kind === 'answered' ? turn.id : null;
}

function isAnotherProfile(before: SessionState, after: SessionState, effects: readonly Effect[]): boolean {
  const changes = ({ turn }: SessionState) => turn!.used.profileChanges;
  return ofKind(effects, 'callModel').length === 1 && changes(after) === changes(before) + 1;
}

function leftIdOf(item: AppendItem): string | null {
  if (item.kind === 'message') return null;
  return item.kind === 'toolResult' ? item.toolCallId : item.callId;
}

function idsInFlight({ turn }: SessionState): string[] {
  if (turn?.step.kind === 'calling') return [turn.step.call.callId];
  return turn?.step.kind === 'tools' ? turn.step.calls.filter(({ done }) => !done).map((call) => call.toolCallId) : [];
}

/** The call in flight with its dispatch, when there is one. */
function inFlight({ turn }: SessionState): string | null {
  return turn?.step.kind === 'calling' ? `${turn.step.call.callId}/${turn.step.call.dispatch}` : null;
}

function dispatchOf({ turn }: SessionState): number {
  return turn?.step.kind === 'calling' ? turn.step.call.dispatch : 0;
}

function repeatsIn(event: SessionEvent): string[] {
  if (event.kind !== 'modelFinished') return [];
  const repeats = event.result.kind === 'repeated' ? [event.result.first] : event.result.repeats;
  return repeats.map((item) => item.itemId);
}

type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

function ofKind<Kind extends Effect['kind']>(effects: readonly Effect[], kind: Kind): EffectOf<Kind>[] {
  return effects.filter((effect): effect is EffectOf<Kind> => effect.kind === kind);
}

function effectsOf<Kind extends Effect['kind']>(trace: readonly Transition[], kind: Kind): EffectOf<Kind>[] {
  return trace.flatMap(({ effects }) => ofKind(effects, kind));
}

const records = (trace: readonly Transition[]) => effectsOf(trace, 'record');

const isUnique = (ids: readonly string[]): boolean => new Set(ids).size === ids.length;

function isSame(left: readonly string[], right: readonly string[]): boolean {
  const others = new Set(right);
  return left.length === right.length && left.every((id) => others.has(id));
}

/** Each value once for every time that it follows another; `null` only separates. */
function changes(values: readonly (string | null)[]): string[] {
  return values.filter((value, n): value is string => value !== null && value !== (values[n - 1] ?? null));
}
