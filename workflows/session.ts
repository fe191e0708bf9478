import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  log,
  setDefaultSignalHandler,
  setHandler,
  sleep,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { LIMITS } from '../protocol/limits.js';
import { QUERY, SEARCH_ATTRIBUTES, UPDATE } from '../protocol/names.js';
import {
  DEFAULT_AGENT,
  type DrainAnswer,
  type NudgeAnswer,
  type ResumeAnswer,
  type ResumeInput,
  type SessionInput,
  type StopAnswer,
  type StopInput,
  type UndrainAnswer,
} from '../protocol/session-input.js';
import type {
  CancelWakeAnswer,
  CancelWakeInput,
  CloseAnswer,
  CloseInput,
  EditWakeInput,
  ScheduleWakeInput,
  WakeAnswer,
} from '../protocol/wakes.js';
import type { SessionView } from '../protocol/view.js';
import { callModel, callTool, computeFires, deliver, record, startSession } from './activity-proxies.js';
import { toCallFailure } from './call-failure.js';
import { isFinished, isQuiet } from './session/advance.js';
import { answerDrain, answerUndrain } from './session/drain.js';
import type { Effect } from './session/effects.js';
import type { SessionEvent } from './session/events.js';
import { answerNudge } from './session/nudge.js';
import { openSession, upgradeState, type SessionState, type StoredState } from './session/state.js';
import { answerStop } from './session/stop.js';
import { transition } from './session/transition.js';
import { toView } from './session/view.js';

/** A run rolls over at the server's suggestion or at this many events, whichever comes first. */
const ROLL_OVER_EVENTS = 2_000;

/** A closed session still refuses for so long what was on its way. */
const CLOSED_LINGER_MS = 1_000;

const stateQuery = defineQuery<SessionView>(QUERY.state);
const resumeUpdate = defineUpdate<ResumeAnswer, [ResumeInput?]>(UPDATE.resume);
const stopUpdate = defineUpdate<StopAnswer, [StopInput?]>(UPDATE.stop);
const drainUpdate = defineUpdate<DrainAnswer>(UPDATE.drain);
const undrainUpdate = defineUpdate<UndrainAnswer>(UPDATE.undrain);
const nudgeUpdate = defineUpdate<NudgeAnswer>(UPDATE.nudge);
const scheduleWakeUpdate = defineUpdate<WakeAnswer, [ScheduleWakeInput]>(UPDATE.scheduleWake);
const editWakeUpdate = defineUpdate<WakeAnswer, [EditWakeInput]>(UPDATE.editWake);
const cancelWakeUpdate = defineUpdate<CancelWakeAnswer, [CancelWakeInput]>(UPDATE.cancelWake);
const closeUpdate = defineUpdate<CloseAnswer, [CloseInput?]>(UPDATE.close);

type Answers = Extract<Effect, { kind: 'answer' }>['answer'];

/**
 * The durable shell of a session: turns what arrives into events, applies each at once through `transition`, and does the effects.
 *
 * I1 `apply` is the only place that changes the state; it never throws and never awaits.
 * I2 The state and the effect runner exist before the first handler: pending signals are applied while the default handler registers.
 * I3 Exactly one default signal handler, so that signals of different names keep their order; it registers before any update.
 * I4 Each call in flight has a scope of its own; a cancelled call may still report, and the core knows that it is not in flight.
 * I5 The run ends by continue-as-new, or when its session is closed; at a moment when nothing is in flight and every handler has answered.
 */
export async function session(input?: SessionInput<StoredState>): Promise<void> {
  let state = initialState(input);
  let isRollingOver = false;
  let timer: CancellationScope | null = null;
  let requestCount = 0;
  const inFlight = new Map<string, CancellationScope>();
  const answers = new Map<string, (answer: Answers) => void>();
  // A cancel of the workflow must not reach what it runs: only the core ends calls, and records are never given up.
  const shield = new CancellationScope({ cancellable: false });

  /** Starts a call in a scope of its own. */
  const inScope = <Result>(id: string, call: () => Promise<Result>): Promise<Result> => {
    const scope = new CancellationScope({ parent: shield, cancellable: true });
    inFlight.set(id, scope);
    return scope.run(call).finally(() => inFlight.delete(id));
  };

  const apply = (event: SessionEvent): void => {
    const change = transition(state, event, { nowMs: Date.now(), rollOverDue: isRollOverDue() });
    state = change.state;
    for (const effect of change.effects) run(effect);
  };

  const run = (effect: Effect): void => {
    switch (effect.kind) {
      case 'callModel': {
        const { callId, dispatch } = effect.input;
        void inScope(callId, () => callModel(effect)).then(
          (result) => apply({ kind: 'modelFinished', callId, dispatch, result }),
          (error: unknown) => apply({ kind: 'modelFailed', callId, dispatch, failure: toCallFailure(error) }),
        );
        return;
      }
      case 'callTool': {
        const { dispatch } = effect;
        const { toolCallId } = effect.input;
        void inScope(toolCallId, () => callTool(effect)).then(
          () => apply({ kind: 'toolFinished', toolCallId, dispatch }),
          (error: unknown) => apply({ kind: 'toolFailed', toolCallId, dispatch, failure: toCallFailure(error) }),
        );
        return;
      }
      case 'cancelCalls':
        for (const id of effect.ids) inFlight.get(id)?.cancel();
        return;
      case 'record':
        void shield.run(() => record(effect)).then(() => apply({ kind: 'recorded' }));
        return;
      case 'armTimer':
        timer?.cancel();
        timer = effect.atMs === null ? null : armTimer(shield, effect.atMs, () => apply({ kind: 'timerFired' }));
        return;
      case 'answer':
        answers.get(effect.requestId)?.(effect.answer);
        answers.delete(effect.requestId);
        return;
      case 'computeFires': {
        const { id } = effect;
        void shield.run(() => computeFires(effect)).then((result) => apply({ kind: 'firesComputed', id, result }));
        return;
      }
      case 'startSession': {
        const { key } = effect;
        void shield
          .run(() => startSession(effect))
          .then(
            () => apply({ kind: 'sessionStarted', key, problem: null }),
            (error: unknown) => apply({ kind: 'sessionStarted', key, problem: toCallFailure(error).message }),
          );
        return;
      }
      case 'deliver': {
        const { subject, part } = effect.input;
        void shield
          .run(() => deliver(effect))
          .then(
            () => apply({ kind: 'deliveryEnded', subject, part, failure: null }),
            (error: unknown) => apply({ kind: 'deliveryEnded', subject, part, failure: toCallFailure(error) }),
          );
        return;
      }
      case 'setAttention':
        upsertSearchAttributes({ [SEARCH_ATTRIBUTES.attention]: [effect.attention] });
        return;
      case 'continueAsNew':
        isRollingOver = true;
        return;
      default:
        effect satisfies never;
    }
  };

  /** Asks the core, whose `answer` may come with a later event. */
  const ask = <Answer extends Answers>(
    kind: Extract<SessionEvent, { requestId: string }>['kind'],
    input: unknown,
  ): Promise<Answer> => {
    requestCount += 1;
    const requestId = `request-${requestCount}`;
    // The core answers each kind of request with its own kind of answer.
    const answer = new Promise<Answer>((resolve) => answers.set(requestId, (given) => resolve(given as Answer)));
    apply({ kind, requestId, input });
    return answer;
  };

  setDefaultSignalHandler((name, ...args) => apply({ kind: 'signalReceived', name, args }));
  setHandler(resumeUpdate, (options) => {
    if (!state.suspended) return 'not_suspended';
    apply({ kind: 'resumeRequested', fromStore: options?.fromStore === true });
    return 'resumed';
  });
  setHandler(stopUpdate, (options) => {
    const turnId = (options as StopInput | null | undefined)?.turnId ?? null;
    const answer = answerStop(state, turnId);
    apply({ kind: 'stopRequested', turnId });
    return answer;
  });
  setHandler(drainUpdate, () => {
    const answer = answerDrain(state);
    apply({ kind: 'drainRequested' });
    return answer;
  });
  setHandler(undrainUpdate, () => {
    const answer = answerUndrain(state);
    apply({ kind: 'undrainRequested' });
    return answer;
  });
  setHandler(nudgeUpdate, () => {
    const before = state;
    apply({ kind: 'nudged' });
    return answerNudge(before, state);
  });
  setHandler(scheduleWakeUpdate, (wake) => ask('wakeScheduleRequested', wake));
  setHandler(editWakeUpdate, (change) => ask('wakeEditRequested', change));
  setHandler(cancelWakeUpdate, (wake) => ask('wakeCancelRequested', wake));
  setHandler(closeUpdate, (options) => ask('closeRequested', options));
  setHandler(stateQuery, () => toView(state, workflowInfo().historyLength));

  apply({ kind: 'opened' });
  // Who cancels the workflow stops its running turn; the session lives on. Only a termination ends it.
  void CancellationScope.current().cancelRequested.catch(() => apply({ kind: 'stopRequested', turnId: null }));
  // A request that came late is still answered, and what follows from it is waited for.
  const isOver = () => (isRollingOver && isQuiet(state)) || isFinished(state);
  const isLeaving = () => isOver() && allHandlersFinished();
  await CancellationScope.nonCancellable(async () => {
    await condition(isLeaving);
    // The answer to a close must not share its task with the end: a task that meets news at the end fails, and the answer with it.
    while (isFinished(state)) {
      await sleep(CLOSED_LINGER_MS);
      if (isFinished(state) && allHandlersFinished()) return;
      await condition(isLeaving);
    }
  });
  if (isFinished(state)) return;
  log.debug('rolling over', { historyLength: workflowInfo().historyLength });
  return continueAsNew<typeof session>({ agent: state.agent, state });
}

function initialState(input: SessionInput<StoredState> | undefined): SessionState {
  const { workflowId, firstExecutionRunId, continuedFromExecutionRunId } = workflowInfo();
  // Only the run before may hand over a state; at a start anyone may have sent anything.
  if (input?.state && continuedFromExecutionRunId) return upgradeState(input.state);
  const isName = typeof input?.agent === 'string' && input.agent !== '' && input.agent.length <= LIMITS.agentNameChars;
  const agent = isName ? input.agent! : DEFAULT_AGENT;
  // What is no name of a channel is declared nowhere, so whatever is sent to the session is refused and says so.
  const channel = typeof input?.channel === 'string' ? input.channel.slice(0, LIMITS.channelNameChars) : null;
  return openSession({ sessionId: workflowId, chain: firstExecutionRunId.slice(0, 8), agent, channel });
}

function isRollOverDue(): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  return continueAsNewSuggested || historyLength >= ROLL_OVER_EVENTS;
}

/** The one timer. A cancelled one stays silent. */
function armTimer(parent: CancellationScope, atMs: number, onDue: () => void): CancellationScope {
  const scope = new CancellationScope({ parent, cancellable: true });
  // What follows is chained outside: inside, everything after the wait would run in the timer's own scope, and end with it.
  void scope.run(() => sleep(Math.max(1, atMs - Date.now()))).then(onDue, () => undefined);
  return scope;
}
