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
import { QUERY, SEARCH_ATTRIBUTES, UPDATE } from '../protocol/names.js';
import { DEFAULT_AGENT, type ResumeAnswer, type ResumeInput, type SessionInput } from '../protocol/session-input.js';
import type { SessionView } from '../protocol/view.js';
import { callModel, callTool, recordForSure, recordShortly } from './activity-proxies.js';
import { toCallFailure } from './call-failure.js';
import type { Effect } from './session/effects.js';
import type { SessionEvent } from './session/events.js';
import { openSession, upgradeState, type SessionState } from './session/state.js';
import { transition } from './session/transition.js';
import { toView } from './session/view.js';

/** A run rolls over at the server's suggestion or at this many events, whichever comes first. */
const ROLL_OVER_EVENTS = 2_000;

const stateQuery = defineQuery<SessionView>(QUERY.state);
const resumeUpdate = defineUpdate<ResumeAnswer, [ResumeInput?]>(UPDATE.resume);

/**
 * The durable shell of a session: turns what arrives into events, applies each at once through `transition`, and does the effects.
 *
 * I1 `apply` is the only place that changes the state; it never throws and never awaits.
 * I2 The state and the effect runner exist before the first handler: pending signals are applied while the default handler registers.
 * I3 Exactly one default signal handler, so that signals of different names keep their order; it registers before any update.
 * I4 The run ends only by continue-as-new, at a moment when nothing is in flight and every handler has answered.
 */
export async function session(input?: SessionInput<SessionState>): Promise<never> {
  let state = initialState(input);
  let isRollingOver = false;
  let timer: CancellationScope | null = null;

  const apply = (event: SessionEvent): void => {
    const change = transition(state, event, { nowMs: Date.now(), rollOverDue: isRollOverDue() });
    state = change.state;
    for (const effect of change.effects) run(effect);
  };

  const run = (effect: Effect): void => {
    switch (effect.kind) {
      case 'callModel': {
        const { callId, dispatch } = effect.input;
        void callModel(effect).then(
          (result) => apply({ kind: 'modelFinished', callId, dispatch, result }),
          (error: unknown) => apply({ kind: 'modelFailed', callId, dispatch, failure: toCallFailure(error) }),
        );
        return;
      }
      case 'callTool': {
        const { toolCallId } = effect.input;
        void callTool(effect).then(
          () => apply({ kind: 'toolFinished', toolCallId }),
          (error: unknown) => apply({ kind: 'toolFailed', toolCallId, failure: toCallFailure(error) }),
        );
        return;
      }
      case 'record':
        void recordShortly(effect.input)
          .catch(() => recordForSure(effect.input))
          .then(() => apply({ kind: 'recorded' }));
        return;
      case 'armTimer':
        timer?.cancel();
        timer = effect.atMs === null ? null : armTimer(effect.atMs, () => apply({ kind: 'timerFired' }));
        return;
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

  setDefaultSignalHandler((name, ...args) => apply({ kind: 'signalReceived', name, args }));
  setHandler(resumeUpdate, (options) => {
    if (!state.suspended) return 'not_suspended';
    apply({ kind: 'resumeRequested', fromStore: options?.fromStore === true });
    return 'resumed';
  });
  setHandler(stateQuery, () => toView(state, workflowInfo().historyLength));

  apply({ kind: 'opened' });
  await condition(() => isRollingOver && allHandlersFinished());
  log.debug('rolling over', { historyLength: workflowInfo().historyLength });
  return continueAsNew<typeof session>({ agent: state.agent, state });
}

function initialState(input: SessionInput<SessionState> | undefined): SessionState {
  if (input?.state) return upgradeState(input.state);
  const { workflowId, firstExecutionRunId } = workflowInfo();
  const agent = typeof input?.agent === 'string' && input.agent !== '' ? input.agent : DEFAULT_AGENT;
  return openSession({ sessionId: workflowId, chain: firstExecutionRunId.slice(0, 8), agent });
}

function isRollOverDue(): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  return continueAsNewSuggested || historyLength >= ROLL_OVER_EVENTS;
}

/** The one timer. A cancelled one stays silent. */
function armTimer(atMs: number, onDue: () => void): CancellationScope {
  const scope = new CancellationScope();
  void scope.run(() => sleep(Math.max(1, atMs - Date.now())).then(onDue, () => undefined));
  return scope;
}
