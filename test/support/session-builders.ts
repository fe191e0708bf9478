import type { CallModelResult, ToolCallRef } from '../../protocol/calls.js';
import { itemIdOf } from '../../protocol/fates.js';
import { DEFAULT_PROFILE, type Profile } from '../../protocol/liveness.js';
import type { MessageSignal } from '../../protocol/messages.js';
import type { NewOutput } from '../../protocol/outputs.js';
import type { Usage } from '../../protocol/usage.js';
import type { ComputedFires } from '../../protocol/wakes.js';
import type { Change, Effect } from '../../workflows/session/effects.js';
import type { CallFailure, Moment, SessionEvent } from '../../workflows/session/events.js';
import { brokenBy, type Transition } from '../../workflows/session/invariants.js';
import { openSession, type Call, type SessionState, type ToolStep, type Turn } from '../../workflows/session/state.js';
import { transition } from '../../workflows/session/transition.js';
import { openCall } from '../../workflows/session/turns.js';

export const NOW_MS = Date.UTC(2026, 0, 1);
export const CHAIN = 'c0ffee00';

/** Something that happens to a session: an event, or one that depends on where the session stands. */
export type Happening = SessionEvent | ((state: SessionState) => SessionEvent);

/** A session to which these things happened, one after the other. */
export function aSession(...happenings: Happening[]): SessionState {
  return after(openSession({ sessionId: 'acme/s1', chain: CHAIN, agent: 'coder' }), ...happenings);
}

/** A new session with limits of its own. */
export function aSessionWith(profile: Partial<Profile>, ...happenings: Happening[]): SessionState {
  return after({ ...aSession(), profile: { ...DEFAULT_PROFILE, ...profile } }, ...happenings);
}

export function after(state: SessionState, ...happenings: Happening[]): SessionState {
  return happenings.reduce((sofar, happening) => when(sofar, happening).state, state);
}

/** Applies one event and fails when an invariant is broken by it. A timer fires when it is due. */
export function when(state: SessionState, happening: Happening, moment: Partial<Moment> = {}): Change {
  const event = typeof happening === 'function' ? happening(state) : happening;
  const dueMs = event.kind === 'timerFired' ? (state.timerAtMs ?? NOW_MS) : NOW_MS;
  return checked(state, event, { nowMs: dueMs, rollOverDue: false, ...moment });
}

const watchers = new Set<(transition: Transition) => void>();

/** Shows every transition that the builders make while `run` runs. */
export function watching(watch: (transition: Transition) => void, run: () => void): void {
  watchers.add(watch);
  try {
    run();
  } finally {
    watchers.delete(watch);
  }
}

function checked(before: SessionState, event: SessionEvent, moment: Moment): Change {
  const change = transition(frozen(before), event, moment);
  const taken = { before, event, moment, after: change.state, effects: change.effects };
  const broken = brokenBy(taken);
  if (broken.length > 0) throw new Error(`After ${event.kind} it does not hold that:\n  ${broken.join('\n  ')}`);
  for (const watch of watchers) watch(taken);
  return change;
}

/** A change in place would go unnoticed otherwise. */
export function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  Object.values(value).forEach(frozen);
  return value;
}

// What clients send.

export function aMessage(over: Partial<MessageSignal> & { id: string }): MessageSignal {
  return over.parts ? over : { text: `text of ${over.id}`, ...over };
}

export function receives(id: string, over: Partial<MessageSignal> = {}): SessionEvent {
  return signal(aMessage({ id, ...over }));
}

export function signal(payload: unknown, name = 'message'): SessionEvent {
  return { kind: 'signalReceived', name, args: [payload] };
}

// What becomes of calls.

export const USAGE: Usage = {
  uncachedInputTokens: 10,
  cacheReadTokens: 4,
  cacheWriteTokens: null,
  outputTokens: 3,
  reasoningTokens: null,
};

type Answer = Extract<CallModelResult, { kind: 'answered' }>;
type CompletedCall = Pick<Answer, 'attempt' | 'repeats'>;

/** A completed call that asks for no tools: its turn is over, and recorded. */
export function anAnswer(callId: string, over: Partial<Answer> = {}): Answer {
  return {
    kind: 'answered',
    outcome: 'completed',
    reason: null,
    endedAtMs: NOW_MS,
    head: `${callId}.out`,
    usage: USAGE,
    model: 'test-model',
    attempt: 1,
    repeats: [],
    ...over,
  };
}

/** The model answers the call in flight, which settles its turn. */
export function answers(over: Partial<Answer> = {}): Happening {
  return (state) => finished(state, anAnswer(callOf(state).callId, over));
}

/** The model answers the call in flight with calls of these tools. */
export function asksFor(...names: string[]): Happening {
  return (state) => {
    const { callId } = callOf(state);
    const toolCalls = names.map((name, n) => aToolCall(`${callId}.t${n + 1}`, name));
    return finished(state, aToolRequest(callId, toolCalls));
  };
}

/** The same with one tool, and something to say of the call. */
export function asksOnce(over: Partial<CompletedCall>): Happening {
  return (state) => {
    const { callId } = callOf(state);
    return finished(state, aToolRequest(callId, [aToolCall(`${callId}.t1`, 'look')], over));
  };
}

/** A completed call that asks for tools. */
export function aToolRequest(
  callId: string,
  toolCalls: ToolCallRef[],
  over: Partial<CompletedCall> = {},
): Extract<CallModelResult, { kind: 'toolCalls' }> {
  const { head, usage, model, attempt, repeats } = anAnswer(callId, over);
  return { kind: 'toolCalls', toolCalls, head, usage, model, attempt, repeats };
}

export function aToolCall(toolCallId: string, name: string): ToolCallRef {
  return { toolCallId, name, heartbeatTimeoutMs: 60_000, maximumAttempts: 1 };
}

/** The store knows the message that opened the turn. */
export function isRepeat(over: Partial<Extract<CallModelResult, { kind: 'repeated' }>['first']> = {}): Happening {
  return (state) => {
    const itemId = itemIdOf(state.turn!.source);
    const first = { itemId, fate: 'answered' as const, turnId: 'older-1', contentHash: 'older', ...over };
    return finished(state, { kind: 'repeated', first });
  };
}

function finished(state: SessionState, result: CallModelResult): SessionEvent {
  const { callId, dispatch } = callOf(state);
  return { kind: 'modelFinished', callId, dispatch, result };
}

export function aFailure(type: CallFailure['type'], over: Partial<CallFailure> = {}): CallFailure {
  const details = {
    attempt: 1,
    phase: null,
    retryAfterMs: null,
    inputAtFault: false,
    profile: null,
    progress: null,
    losses: 0,
  };
  return { type, message: `${type} happened`, ...details, ...over };
}

/** A chain of models that all have the default table. */
export function aChainOf(...models: string[]): Partial<Profile> {
  return { links: models.map((model) => ({ model, budgetsMs: DEFAULT_PROFILE.budgetsMs })) };
}

/** The call in flight fails. */
export function fails(type: CallFailure['type'], over: Partial<CallFailure> = {}): Happening {
  return (state) => {
    const { callId, dispatch } = callOf(state);
    return { kind: 'modelFailed', callId, dispatch, failure: aFailure(type, over) };
  };
}

/** The tool call at this place of the running step ends. */
export function toolEnds(place: number): Happening {
  return (state) => {
    const { toolCallId, dispatch } = toolsOf(state)[place]!;
    return { kind: 'toolFinished', toolCallId, dispatch };
  };
}

export function toolFails(place: number, message = 'the worker is gone'): Happening {
  return toolFailsWith(place, aFailure('WorkerLost', { message }));
}

/** No worker takes the tool call at this place. */
export function toolStarves(place: number): Happening {
  return toolFailsWith(place, aFailure('ScheduleToStartTimeout'));
}

function toolFailsWith(place: number, failure: CallFailure): Happening {
  return (state) => {
    const { toolCallId, dispatch } = toolsOf(state)[place]!;
    return { kind: 'toolFailed', toolCallId, dispatch, failure };
  };
}

export const recorded: SessionEvent = { kind: 'recorded' };
export const timerFires: SessionEvent = { kind: 'timerFired' };
export const opened: SessionEvent = { kind: 'opened' };
/** Somebody stops the turn that runs, or the one of this id. */
export const stops = (turnId: string | null = null): SessionEvent => ({ kind: 'stopRequested', turnId });
export const drains: SessionEvent = { kind: 'drainRequested' };
export const nudges: SessionEvent = { kind: 'nudged' };
export const undrains: SessionEvent = { kind: 'undrainRequested' };
export const resumes = (fromStore = false): SessionEvent => ({ kind: 'resumeRequested', fromStore });

// What people and the agent ask of wakes, and what becomes of it.

export const schedules = (input: unknown, requestId = 'u1'): SessionEvent => ({
  ...{ kind: 'wakeScheduleRequested', requestId, input },
});
export const edits = (input: unknown, requestId = 'u2'): SessionEvent => ({
  ...{ kind: 'wakeEditRequested', requestId, input },
});
export const cancels = (input: unknown, requestId = 'u3'): SessionEvent => ({
  ...{ kind: 'wakeCancelRequested', requestId, input },
});
export const closes = (input?: unknown, requestId = 'u4'): SessionEvent => ({
  ...{ kind: 'closeRequested', requestId, input },
});
export const reminds = (payload: unknown): SessionEvent => signal(payload, 'reminder');

/** The due times that were asked for first are known: so many milliseconds from `NOW_MS`. */
export function computed(...inMs: number[]): Happening {
  return ({ computing }) => ({ kind: 'firesComputed', id: computing[0]!.id, result: computedFires(inMs) });
}

export function computedFires(inMs: number[], over: Partial<Computed> = {}): Computed {
  const fires = inMs.map((ms) => ({ dueMs: NOW_MS + ms, text: `in ${ms} ms` }));
  return { kind: 'computed', zone: 'UTC', fires, missed: 0, ...over };
}

type Computed = Extract<ComputedFires, { kind: 'computed' }>;

/** They cannot be known. */
export const notComputed: Happening = ({ computing }) => {
  const result = { kind: 'error', problem: 'no such zone' } as const;
  return { kind: 'firesComputed', id: computing[0]!.id, result };
};

/** The answer of a change to a request. */
export const answerOf = (change: Change) => effectOf(change, 'answer').answer;

/** Continue-as-new: the state crosses as JSON, and a new run opens with it. */
export function rolledOver(state: SessionState): SessionState {
  return after(JSON.parse(JSON.stringify(state)) as SessionState, opened);
}

// What there is to see.

export function turnOf(state: SessionState): Turn {
  if (!state.turn) throw new Error('no turn runs');
  return state.turn;
}

export function callOf(state: SessionState): Call {
  const call = openCall(turnOf(state));
  if (!call) throw new Error(`the turn is in no call, but at "${turnOf(state).step.kind}"`);
  return call;
}

function toolsOf(state: SessionState): ToolStep[] {
  const { step } = turnOf(state);
  if (step.kind !== 'tools') throw new Error(`no tools run: the turn is at "${step.kind}"`);
  return step.calls;
}

/** Where a session stands, in one word. */
export function placeOf({ suspended, turn, closed }: SessionState): string {
  if (closed) return 'closed';
  return suspended ? 'suspended' : (turn?.step.kind ?? 'idle');
}

/** What every dispatch of the call in flight asks. */
export function askedBy(state: SessionState): Pick<Call, 'callId' | 'append' | 'outputs'> {
  const { callId, append, outputs } = callOf(state);
  return { callId, append, outputs };
}

type EffectOf<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

export function effectsOf<Kind extends Effect['kind']>({ effects }: Change, kind: Kind): EffectOf<Kind>[] {
  return effects.filter((effect): effect is EffectOf<Kind> => effect.kind === kind);
}

/** The one effect of a kind. */
export function effectOf<Kind extends Effect['kind']>(change: Change, kind: Kind): EffectOf<Kind> {
  const [effect, ...others] = effectsOf(change, kind);
  if (!effect || others.length > 0) {
    throw new Error(`expected one ${kind}, but the effects are: ${change.effects.map((each) => each.kind).join(', ')}`);
  }
  return effect;
}

/** Ids of the messages that a list of inputs holds. */
export function messageIds(items: readonly { kind: string; messageId?: string }[]): string[] {
  return items.flatMap((item) => (item.kind === 'message' ? [item.messageId!] : []));
}

export const queuedIds = (state: SessionState): string[] => state.queue.map((item) => item.message.id);

export function fateOf(state: SessionState, id: string): string | undefined {
  return state.seen.find((item) => item.id === id)?.fate;
}

/** Everything that a change hands to an activity to tell. */
export function toldBy(change: Change): NewOutput[] {
  return [...effectsOf(change, 'callModel'), ...effectsOf(change, 'record')].flatMap(({ input }) => input.outputs);
}

/** What a message was told by a change. */
export function dispositionsOf(change: Change, messageId: string) {
  return toldBy(change).flatMap((output) =>
    output.kind === 'MessageReceived' && output.messageId === messageId ? [output.disposition] : [],
  );
}

export const noticesOf = (change: Change): string[] =>
  toldBy(change).flatMap((output) => (output.kind === 'Notice' ? [output.code] : []));
