import type { CallModelInput, CallModelResult, RecordInput } from '../../protocol/calls.js';
import { itemIdOf, type ItemRecord } from '../../protocol/fates.js';
import { DEFAULT_PROFILE, profileVersion, type Profile } from '../../protocol/liveness.js';
import { isQuiet } from '../../workflows/session/advance.js';
import type { Effect } from '../../workflows/session/effects.js';
import type { CallFailure, SessionEvent } from '../../workflows/session/events.js';
import { brokenBy, type Transition } from '../../workflows/session/invariants.js';
import { addUsage } from '../../protocol/usage.js';
import { openSession, upgradeState, type SessionState } from '../../workflows/session/state.js';
import { transition } from '../../workflows/session/transition.js';
import {
  aChainOf,
  aFailure,
  anAnswer,
  aToolCall,
  aToolRequest,
  CHAIN,
  frozen,
  messageIds,
  NOW_MS,
} from './session-builders.js';
import { Chance } from './session-chance.js';
import { WakeChance } from './wake-chance.js';
import { RefusedByStore, StoreModel, type Begun } from './session-store-model.js';

type ModelActivity = Extract<Effect, { kind: 'callModel' }> & { attempt: number };
type ToolActivity = Extract<Effect, { kind: 'callTool' }>;
type Completed = Exclude<CallModelResult, { kind: 'repeated' }>;
type Ending = 'answer' | 'askForTools' | 'cutAnswer';
type Action = keyof SimulatedSession['actions'];

const PROFILES: Profile[] = [
  { ...DEFAULT_PROFILE, stepsPerTurn: 4, redispatchesPerTurn: 3, providerWaitPerTurnMs: 200_000 },
  {
    ...{
      ...DEFAULT_PROFILE,
      stepsPerTurn: 3,
      resumesPerTurn: 1,
      redispatchesPerTurn: 2,
      providerWaitPerTurnMs: 90_000,
    },
    ...{ capacityWaitPerTurnMs: 150_000, ...aChainOf('first', 'second') },
  },
];

const MALFORMED = [
  undefined,
  null,
  'hi',
  7,
  [],
  {},
  { id: 5 },
  { id: 'x' },
  { id: 'x', text: 3 },
  { id: 'x', parts: [{}] },
];

/**
 * One session in a world that goes wrong: the shell of `session.ts` over a queue of activities that end in any order and any way, a
 * worker with settings of its own, a store that may be away, and a server that rolls the run over.
 *
 * I1 Everything is decided by the seed.
 * I2 Each event goes through `apply`, which checks every invariant; the first broken one throws.
 */
export class SimulatedSession {
  state: SessionState = openSession({ sessionId: 'acme/s1', chain: CHAIN, agent: 'coder' });
  readonly store = new StoreModel();
  readonly trace: Transition[] = [];
  /** How often each id was accepted, and how often an acceptance ended: with its turn, or as a repeat that the store knew. */
  readonly accepted = new Map<string, number>();
  readonly ended = new Map<string, number>();
  /** How the session believes that each of its turns ended, and the turns that ended in the store by a call that could not report. */
  readonly believed = new Map<string, string>();
  readonly unreported = new Set<string>();
  /** Messages that the conversation goes on without, because the provider refused them or a person chose the store's transcript. */
  readonly leftOut = new Set<string>();

  private readonly chance: Chance;
  private readonly wakeChance: WakeChance;
  /** Most sessions are never closed, some early. */
  private readonly closeWeight: number;
  /** Some sessions are quiet, and some never get through their queue. */
  private readonly sendWeight: number;
  private nowMs = NOW_MS;
  private models: ModelActivity[] = [];
  private tools: ToolActivity[] = [];
  private records: RecordInput[] = [];
  private computing: Extract<Effect, { kind: 'computeFires' }>[] = [];
  private starting: string[] = [];
  private delivering: Extract<Effect, { kind: 'deliver' }>[] = [];
  /** Deliveries that their channels took, or that were given up. */
  readonly delivered = new Set<string>();
  private readonly requests = new Set<string>();
  private requestCount = 0;
  private timerAtMs: number | null = null;
  private isRollingOver = false;
  private isEnding = false;
  private stepsInRun = 0;
  private runLimit: number;
  private readonly past: SessionEvent[] = [];
  private readonly sent: string[] = [];
  private worker = { profile: PROFILES[0]!, hasAgent: true, hasTranscript: true, hasStore: true };

  constructor(seed: number) {
    this.chance = new Chance(seed);
    this.runLimit = this.chance.between(20, 120);
    this.sendWeight = this.chance.oneOf([3, 14]);
    this.wakeChance = new WakeChance(this.chance);
    this.closeWeight = this.chance.oneOf([0, 0, 0.1]);
    this.apply({ kind: 'opened' });
  }

  step(): void {
    if (this.canRollOver() && this.chance.happens(0.6)) return this.rollOver();
    const action = this.chance.weighted<Action>({
      ...{
        send: this.sendWeight,
        sendMany: 0.15,
        repeat: 6,
        sendNonsense: 3,
        runModel: 40,
        endTool: 25,
        acknowledge: 20,
      },
      ...{ waitForTimer: 12, fireTimerEarly: 1, replay: 5, resume: 2, changeWorker: 4 },
      ...{ stop: 3, stopAnother: 1, drain: 1, undrain: 2, nudge: 1, lackCapacity: 3, close: this.closeWeight },
      ...{
        scheduleWake: 3,
        editWake: 2,
        cancelWake: 2,
        remind: 3,
        jump: 2,
        computeFires: 15,
        startSession: 5,
        deliver: 6,
      },
    });
    this.actions[action]();
  }

  /** Lets everything come to its end in a world without faults, then sends one more message, so that nothing stays carried. */
  drain(): void {
    this.worker = { ...this.worker, hasAgent: true, hasTranscript: true, hasStore: true };
    this.isEnding = true;
    if (this.state.draining) this.apply({ kind: 'undrainRequested' });
    if (!this.isRollOverDue()) this.runLimit = Infinity;
    while (this.computing.length > 0) this.actions.computeFires();
    for (const { id } of this.state.wakes) this.request('wakeCancelRequested', { wake: id });
    this.settleDown();
    // One that is surely taken: a refused one would leave what is carried where it is.
    this.sent.push('last');
    this.signal({ id: 'last', text: 'text' });
    this.settleDown();
  }

  private settleDown(): void {
    for (let n = 0; n < 5_000; n++) {
      if (this.canRollOver()) this.rollOver();
      else if (this.state.suspended) this.apply({ kind: 'resumeRequested', fromStore: false });
      else if (this.models.length > 0) this.runModelWell();
      else if (this.tools.length > 0) this.actions.endTool();
      else if (this.records.length > 0) this.actions.acknowledge();
      else if (this.computing.length > 0) this.actions.computeFires();
      else if (this.starting.length > 0) this.actions.startSession();
      else if (this.delivering.length > 0) this.actions.deliver();
      else if (this.timerAtMs !== null) this.actions.waitForTimer();
      else return;
    }
    throw new Error('the session does not come to rest');
  }

  readonly actions = {
    send: () => this.send(`m${this.sent.length + 1}`),
    sendMany: () => {
      for (let n = 0; n < 130; n++) this.actions.send();
    },
    repeat: () => {
      if (this.sent.length > 0)
        this.signal({ id: this.chance.oneOf(this.sent), text: this.chance.oneOf(['text', 'other']) });
    },
    sendNonsense: () =>
      this.apply({
        kind: 'signalReceived',
        name: this.chance.oneOf(['message', 'wink']),
        args: [this.chance.oneOf(MALFORMED)],
      }),
    runModel: () => {
      const activity = this.models[0];
      if (activity) this.runModel(activity);
    },
    endTool: () => {
      const tool = this.tools.splice(this.chance.between(0, this.tools.length - 1), 1)[0];
      if (!tool) return;
      const { dispatch, input } = tool;
      const { toolCallId } = input;
      const failure = aFailure(
        this.chance.oneOf(['WorkerLost', 'HeartbeatTimeout', 'StoreUnavailable', 'Unknown'] as const),
        { losses: this.chance.between(0, 3) },
      );
      this.apply(
        this.chance.happens(0.8)
          ? { kind: 'toolFinished', toolCallId, dispatch }
          : { kind: 'toolFailed', toolCallId, dispatch, failure },
      );
    },
    acknowledge: () => {
      const record = this.worker.hasStore ? this.records.shift() : undefined;
      if (!record) return;
      this.store.record(record);
      this.apply({ kind: 'recorded' });
    },
    waitForTimer: () => {
      if (this.timerAtMs === null) return;
      this.nowMs = Math.max(this.nowMs, this.timerAtMs);
      this.timerAtMs = null;
      this.apply({ kind: 'timerFired' });
    },
    fireTimerEarly: () => {
      if (this.timerAtMs === null) return;
      this.timerAtMs = null;
      this.apply({ kind: 'timerFired' });
    },
    /** No worker takes what is in flight, none of which has begun. */
    lackCapacity: () => {
      const model = this.models.find(({ attempt }) => attempt === 1);
      if (model || this.tools.length > 0) this.nowMs += this.state.profile.scheduleToStartMs;
      if (model) return this.fail(model, { type: 'ScheduleToStartTimeout' });
      for (const { input, dispatch } of this.tools.splice(0)) {
        const failure = aFailure('ScheduleToStartTimeout');
        this.apply({ kind: 'toolFailed', toolCallId: input.toolCallId, dispatch, failure });
      }
    },
    /** An old report comes again. */
    replay: () => {
      const event = this.past.length > 0 ? this.chance.oneOf(this.past.slice(-30)) : null;
      if (event?.kind === 'toolFinished' && this.chance.happens(0.5)) {
        this.applyLate({ ...event, kind: 'toolFailed', failure: aFailure('Unknown') });
      } else if (event) this.applyLate(event);
    },
    resume: () => this.apply({ kind: 'resumeRequested', fromStore: this.chance.happens(0.2) }),
    stop: () => this.apply({ kind: 'stopRequested', turnId: this.chance.oneOf([null, this.state.turn?.id ?? null]) }),
    stopAnother: () => this.applyLate({ kind: 'stopRequested', turnId: this.state.lastOutcome?.turnId ?? 'none' }),
    scheduleWake: () => this.request('wakeScheduleRequested', this.wakeChance.schedule(this.nowMs)),
    editWake: () => this.request('wakeEditRequested', this.wakeChance.edit(this.state, this.nowMs)),
    cancelWake: () => {
      const cancel = this.wakeChance.cancel(this.state);
      if (this.chance.happens(0.3)) this.apply({ kind: 'signalReceived', name: 'cancelWake', args: [cancel] });
      else this.request('wakeCancelRequested', cancel);
    },
    close: () => this.request('closeRequested', undefined),
    remind: () => {
      const reminderId = this.chance.oneOf(['r1', 'r2', `r${this.sent.length}`]);
      const onBusy = this.chance.oneOf(['defer', 'refuse']);
      const payload = { reminderId, dueMs: this.chance.between(1, 3), prompt: 'due', onBusy };
      this.apply({ kind: 'signalReceived', name: 'reminder', args: [payload] });
    },
    /** The clock goes on while nobody is there; the timer that was missed fires late. */
    jump: () => {
      if (this.timerAtMs === null) return;
      this.nowMs += this.chance.oneOf([1_000, 60_000, 3_600_000]);
      this.timerAtMs = null;
      this.apply({ kind: 'timerFired' });
    },
    computeFires: () => {
      const [asked] = this.computing.splice(this.chance.between(0, this.computing.length - 1), 1);
      if (!asked) return;
      this.apply({ kind: 'firesComputed', id: asked.id, result: this.wakeChance.compute(asked.input) });
    },
    startSession: () => {
      const key = this.starting.shift();
      if (key === undefined) return;
      this.apply({ kind: 'sessionStarted', key, problem: this.chance.oneOf([null, null, 'no server']) });
    },
    deliver: () => {
      const [sent] = this.delivering.splice(this.chance.between(0, this.delivering.length - 1), 1);
      if (!sent) return;
      const { subject, part } = sent.input;
      const type = this.chance.oneOf([null, null, 'ScheduleToStartTimeout', 'Unknown'] as const);
      if (type === null) this.delivered.add(`${subject}/${part}`);
      this.apply({ kind: 'deliveryEnded', subject, part, failure: type && aFailure(type) });
    },
    drain: () => this.apply({ kind: 'drainRequested' }),
    nudge: () => this.apply({ kind: 'nudged' }),
    undrain: () => this.apply({ kind: 'undrainRequested' }),
    changeWorker: () => {
      const usually = (probability: number) => this.chance.happens(probability);
      this.worker = {
        profile: this.chance.oneOf(PROFILES),
        hasAgent: usually(0.9),
        hasTranscript: usually(0.9),
        hasStore: usually(0.85),
      };
    },
  };

  private send(id: string): void {
    this.sent.push(id);
    const route = this.chance.happens(0.3) ? { channel: this.chance.oneOf(['hook', 'other', 'undeclared']) } : {};
    const mode = this.chance.oneOf(['steer', 'queue']);
    this.signal({ id, text: 'text', mode, silent: this.chance.happens(0.1), ...route });
  }

  private signal(payload: { id: string; [field: string]: unknown }): void {
    this.apply({ kind: 'signalReceived', name: 'message', args: [payload] });
  }

  private request(kind: Extract<SessionEvent, { requestId: string }>['kind'], input: unknown): void {
    const requestId = `u${++this.requestCount}`;
    this.requests.add(requestId);
    this.apply({ kind, requestId, input });
  }

  /** One try: what the worker and the store refuse first, then one of the ways a request ends. */
  private runModel(activity: ModelActivity): void {
    const refusal = this.refusalOf(activity);
    if (refusal) return this.fail(activity, refusal);
    const begun = this.begin(activity);
    if (!begun) return;
    if (begun.kind !== 'begun') return this.finish(activity, begun);
    const ending = this.chance.weighted({
      ...{ answer: 45, askForTools: 20, cutAnswer: 4, crashAfterFinish: 4, redeliver: 4, breakStream: 9, timeOut: 4 },
      ...{ ModelBusy: 7, ContextOverflow: 2, ModelRejected: 4, StoreUnavailable: 3, WorkerDraining: 4, WorkerLost: 6 },
      ...{ StaleTry: 1, Defect: 2, OtherTimeout: 1, Unknown: 1 },
    });
    switch (ending) {
      case 'answer':
      case 'askForTools':
      case 'cutAnswer':
        return this.finish(activity, begun, ending);
      case 'crashAfterFinish':
        return this.crashAfterFinish(activity, begun);
      case 'redeliver':
        activity.attempt += activity.attempt < activity.maximumAttempts ? 1 : 0;
        return;
      case 'breakStream':
        return this.retryOrFail(activity, { type: 'StreamBroken' });
      case 'timeOut':
        return this.retryOrFail(activity, { type: 'HeartbeatTimeout', attempt: null });
      default:
        return this.fail(activity, this.failureOf(ending));
    }
  }

  /** Everything is in the store, and nobody says so. */
  private crashAfterFinish(activity: ModelActivity, begun: Extract<Begun, { kind: 'begun' }>): void {
    const ending = this.chance.oneOf<Ending>(['answer', 'askForTools', 'cutAnswer']);
    const result = this.complete(activity, begun, ending);
    if (result.kind === 'answered') this.unreported.add(activity.input.turnId);
    if (this.chance.happens(0.5)) return this.fail(activity, { type: 'WorkerLost' });
    return this.retryOrFail(activity, { type: 'HeartbeatTimeout', attempt: null });
  }

  private runModelWell(): void {
    const activity = this.models[0]!;
    const refusal = this.refusalOf(activity);
    if (refusal) return this.fail(activity, refusal);
    const begun = this.begin(activity);
    if (begun) this.finish(activity, begun, 'answer');
  }

  private refusalOf({ input }: ModelActivity): (Partial<CallFailure> & Pick<CallFailure, 'type'>) | null {
    const { profile, hasAgent, hasTranscript, hasStore } = this.worker;
    if (!hasAgent) return { type: 'AgentUnavailable' };
    if (input.profileVersion !== profileVersion(profile)) return { type: 'ProfileChanged', profile };
    if (input.channel === 'undeclared') return { type: 'ChannelUndeclared' };
    if (!hasStore) return { type: 'StoreUnavailable' };
    return !hasTranscript && input.head !== null ? { type: 'TranscriptMissing' } : null;
  }

  private begin(activity: ModelActivity): Begun | null {
    try {
      return this.store.begin(activity.input, activity.attempt);
    } catch (error) {
      if (!(error instanceof RefusedByStore)) throw error;
      this.fail(activity, { type: error.type });
      return null;
    }
  }

  private failureOf(type: CallFailure['type']): Partial<CallFailure> & Pick<CallFailure, 'type'> {
    if (type === 'Unknown' || type === 'OtherTimeout') return { type, attempt: null };
    const retryAfterMs = this.chance.oneOf([null, 5_000, 120_000]);
    return { type, retryAfterMs, inputAtFault: this.chance.happens(0.4) };
  }

  private retryOrFail(activity: ModelActivity, failure: Partial<CallFailure> & Pick<CallFailure, 'type'>): void {
    if (activity.attempt >= activity.maximumAttempts) return this.fail(activity, failure);
    activity.attempt += 1;
  }

  private fail(activity: ModelActivity, over: Partial<CallFailure> & Pick<CallFailure, 'type'>): void {
    const { callId, dispatch, append } = activity.input;
    const failure = aFailure(over.type, { attempt: activity.attempt, ...over });
    const isRefused = failure.type === 'ContextOverflow' || (failure.type === 'ModelRejected' && failure.inputAtFault);
    if (isRefused) messageIds(append).forEach((id) => this.leftOut.add(id));
    this.models = [];
    this.apply({ kind: 'modelFailed', callId, dispatch, failure });
  }

  private finish(activity: ModelActivity, begun: Begun, ending: Ending = 'answer'): void {
    const { input, attempt } = activity;
    const { callId, dispatch } = input;
    const result = begun.kind === 'begun' ? this.complete(activity, begun, ending) : resultOf(begun, attempt);
    this.models = [];
    this.learn(result.kind === 'repeated' ? [result.first] : result.repeats);
    if (result.kind === 'answered') this.endTurn(settling(input, result));
    this.apply({ kind: 'modelFinished', callId, dispatch, result });
  }

  /** What the activity does in one transaction. */
  private complete(activity: ModelActivity, begun: Extract<Begun, { kind: 'begun' }>, ending: Ending): Completed {
    const { input } = activity;
    const result = this.answerTo(activity, begun, ending);
    this.store.finish(input.callId, result, result.kind === 'answered' ? settling(input, result) : null);
    return result;
  }

  private answerTo(
    { input, attempt }: ModelActivity,
    { repeats }: Extract<Begun, { kind: 'begun' }>,
    ending: Ending,
  ): Completed {
    const { callId } = input;
    const endedAtMs = this.nowMs;
    if (ending === 'answer') return anAnswer(callId, { attempt, repeats, endedAtMs });
    if (ending === 'cutAnswer') {
      return anAnswer(callId, { attempt, repeats, endedAtMs, outcome: 'failed', reason: 'the answer was cut' });
    }
    const toolCalls = Array.from({ length: this.chance.between(1, 3) }, (_, n) =>
      aToolCall(`${callId}.t${n + 1}`, 'look'),
    );
    return aToolRequest(callId, toolCalls, { attempt, repeats });
  }

  /** As the session sees it: whoever records it, and whatever the store knew before. */
  private endTurn({ outcomes, items }: RecordInput): void {
    for (const { turnId, outcome } of outcomes) this.believed.set(turnId, outcome);
    for (const item of items) count(this.ended, item.itemId);
  }

  /** An acceptance that turns out to be a repeat ends here. */
  private learn(repeats: readonly { itemId: string }[]): void {
    for (const { itemId } of repeats) if (this.state.turn?.itemIds.includes(itemId)) count(this.ended, itemId);
  }

  private apply(event: SessionEvent): void {
    if (event.kind !== 'opened') this.stepsInRun += 1;
    if (
      event.kind === 'modelFinished' ||
      event.kind === 'modelFailed' ||
      event.kind === 'toolFinished' ||
      event.kind === 'toolFailed'
    )
      this.past.push(event);
    if (event.kind === 'resumeRequested' && event.fromStore && this.state.suspended) {
      messageIds(this.state.carried).forEach((id) => this.leftOut.add(id));
    }
    this.nowMs += this.chance.between(0, 500);
    this.take(event);
  }

  /** A report about something that is no longer in flight must change nothing. */
  private applyLate(event: SessionEvent): void {
    const { state } = this;
    const last = this.trace.at(-1);
    if (last && last.moment.rollOverDue !== this.isRollOverDue()) return;
    this.take(event);
    if (this.state !== state && JSON.stringify(this.state) !== JSON.stringify(state))
      throw new Error(`a late ${event.kind} changed the session`);
    if (this.trace.at(-1)!.effects.some((effect) => effect.kind !== 'continueAsNew'))
      throw new Error(`a late ${event.kind} had effects`);
  }

  private take(event: SessionEvent): void {
    const before = frozen(this.state);
    const moment = { nowMs: this.nowMs, rollOverDue: this.isRollOverDue() };
    const { state, effects } = transition(before, event, moment);
    const taken: Transition = { before, event, moment, after: state, effects };
    this.trace.push(taken);
    this.state = state;
    requireNone(brokenBy(taken), `after ${event.kind}`);
    const known = new Set(before.seen.map((item) => item.id));
    for (const { id } of state.seen) if (!known.has(id)) count(this.accepted, id);
    for (const effect of effects) this.run(effect);
  }

  private run(effect: Effect): void {
    switch (effect.kind) {
      case 'callModel':
        if (this.models.length > 0) throw new Error('two model calls are in flight');
        this.models.push({ ...effect, attempt: 1 });
        return;
      case 'callTool':
        this.tools.push(effect);
        return;
      case 'cancelCalls':
        this.cancel(new Set(effect.ids));
        return;
      case 'record':
        this.endTurn(effect.input);
        this.records.push(effect.input);
        return;
      case 'armTimer':
        this.timerAtMs = effect.atMs;
        return;
      case 'answer':
        if (!this.requests.delete(effect.requestId)) throw new Error(`${effect.requestId} was answered twice`);
        return;
      case 'computeFires':
        this.computing.push(effect);
        return;
      case 'startSession':
        this.starting.push(effect.key);
        return;
      case 'deliver':
        this.delivering.push(effect);
        return;
      case 'continueAsNew':
        this.isRollingOver = true;
        return;
      case 'setAttention':
        return;
    }
  }

  /** What is cancelled may have ended already, one way or the other; the session hears of it later. */
  private cancel(ids: ReadonlySet<string>): void {
    for (const { input } of this.models.filter((model) => ids.has(model.input.callId))) {
      const { callId, dispatch } = input;
      this.past.push({ kind: 'modelFailed', callId, dispatch, failure: aFailure('Unknown') });
      this.past.push({ kind: 'modelFinished', callId, dispatch, result: anAnswer(callId) });
    }
    for (const { input, dispatch } of this.tools.filter((tool) => ids.has(tool.input.toolCallId)))
      this.past.push({ kind: 'toolFinished', toolCallId: input.toolCallId, dispatch });
    this.models = this.models.filter((model) => !ids.has(model.input.callId));
    this.tools = this.tools.filter((tool) => !ids.has(tool.input.toolCallId));
  }

  private isRollOverDue(): boolean {
    return this.stepsInRun >= this.runLimit;
  }

  private canRollOver(): boolean {
    return this.isRollingOver && this.requests.size === 0 && isQuiet(this.state);
  }

  private rollOver(): void {
    const onTheirWay = this.computing.length + this.starting.length + this.requests.size;
    const inFlight = this.models.length + this.tools.length + this.records.length + onTheirWay;
    if (inFlight > 0 || this.timerAtMs !== null) throw new Error('the run rolled over with something in flight');
    this.state = upgradeState(JSON.parse(JSON.stringify(this.state)) as SessionState);
    this.isRollingOver = false;
    // Nobody of the next run hears of them, whether their channels took them or not.
    this.delivering = [];
    this.stepsInRun = 0;
    this.runLimit = this.isEnding ? Infinity : this.chance.between(20, 120);
    this.apply({ kind: 'opened' });
  }
}

/** What a call that a crash had cut off from reporting reports later. */
function resultOf(begun: Exclude<Begun, { kind: 'begun' }>, attempt: number): CallModelResult {
  return begun.kind === 'repeated' ? begun : { ...begun.result, attempt };
}

/** What a call records of the turn that it ends. */
function settling(input: CallModelInput, answer: Extract<Completed, { kind: 'answered' }>): RecordInput {
  const { sessionId, chain, agent, turnId, settlement } = input;
  const { source, silent, startedAtMs, queued } = settlement;
  const { outcome, reason, endedAtMs } = answer;
  const repeats = new Set(answer.repeats.map((item) => item.itemId));
  const items = settlement.items
    .filter(({ itemId }) => !repeats.has(itemId))
    .map((item): ItemRecord => ({ ...item, turnId, fate: item.itemId === itemIdOf(source) ? 'answered' : 'steered' }));
  const usage = addUsage(settlement.usage, answer.usage);
  const ended = { turnId, outcome, reason, source, silent, usage, startedAtMs, endedAtMs };
  const status = queued > 0 ? 'running' : 'idle';
  return { sessionId, chain, agent, status, queued, outputs: [], outcomes: [ended], items };
}

export function count(counts: Map<string, number>, id: string): void {
  counts.set(id, (counts.get(id) ?? 0) + 1);
}

export function requireNone(broken: readonly string[], when: string): void {
  if (broken.length > 0) throw new Error(`${when} it does not hold that:\n  ${broken.join('\n  ')}`);
}
