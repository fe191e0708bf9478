import { Context, type Info } from '@temporalio/activity';
import type { LanguageModelV3 } from '@ai-sdk/provider';
import { createHash } from 'node:crypto';
import type { CallModelInput, CallModelResult, RecordInput, ToolCallRef, TryRef } from '../protocol/calls.js';
import { itemIdOf, type ItemRecord } from '../protocol/fates.js';
import type { NewOutput, OutputBody } from '../protocol/outputs.js';
import { LIMITS } from '../protocol/limits.js';
import {
  budgetsOfLink,
  type Evidence,
  profileVersion,
  type Progress,
  promotedPrefillMs,
} from '../protocol/liveness.js';
import { addUsage, type Usage } from '../protocol/usage.js';
import {
  type AnsweredResult,
  assistantEntryId,
  type AssistantPart,
  type BegunTry,
  type EarlierTries,
  type TryEnd,
} from '../store/session-store.js';
import type { AccountGates } from './account-gates.js';
import { AgentUnavailableError, ChannelUndeclaredError, ProfileChangedError } from './activity-errors.js';
import type { Agent } from './agents.js';
import { isRefusal, toFailure } from './classify-error.js';
import type { ClosedCallWatch } from './closed-call-watch.js';
import type { Dependencies } from './dependencies.js';
import { endingOf, judgeFinish } from './finish-table.js';
import { entriesFor } from './foreign-entries.js';
import { Liveness } from './liveness.js';
import { onRequestSent } from './model-http.js';
import { accountOf } from './models.js';
import { toPrompt } from './prompt.js';
import { OutputLimitError, readStream, type StreamReading, unlessAborted } from './read-stream.js';
import { DEFAULT_TOOL_SILENCE_MS, IDEMPOTENT_ATTEMPTS } from './tool-policy.js';
import { TryJournal } from './try-journal.js';
import { usageOf } from './usage-of.js';

/**
 * OpenAI is told to keep nothing and to hand out its reasoning instead: requests would otherwise refer to items in its storage, which
 * forgets them after 30 days, and a session lives longer. Other providers do not read this.
 */
const PROVIDER_OPTIONS = { openai: { store: false } };

/** The `callModel` activity: one attempt is one try, and one try is at most one provider request. */
export function createCallModel(dependencies: Dependencies & { gates: AccountGates }, watch: ClosedCallWatch) {
  return async function callModel(input: CallModelInput): Promise<CallModelResult> {
    const context = Context.current();
    const modelTry = new ModelTry({ ...dependencies, watch }, input, context);
    try {
      return await modelTry.run();
    } catch (error) {
      throw modelTry.failed(error);
    } finally {
      modelTry.release();
    }
  };
}

/**
 * One try of a model call, from its first instruction to its last write.
 *
 * I1 Nothing is asked of the provider before `beginTry` has let the try in.
 * I2 Every write passes the store's fence; the first refused write aborts the request.
 * I3 The result exists in the store before the activity completes, so a crash in between is not paid again.
 */
class ModelTry {
  /** Why the try had to end although its stream did not fail: outranks what the abort makes the provider library throw. */
  fatal: unknown;
  private readonly ref: TryRef;
  private readonly abort = new AbortController();
  private readonly journal: TryJournal;
  private liveness: Liveness | null = null;
  private hasEnded = false;
  /** The provider did no work for this try. */
  private isRefused = false;
  private isReleased = false;
  private unwatch: () => void = () => undefined;

  constructor(
    private readonly dependencies: Dependencies & { gates: AccountGates; watch: ClosedCallWatch },
    private readonly input: CallModelInput,
    private readonly context: Context,
  ) {
    const { sessionId, callId, dispatch } = input;
    this.ref = { sessionId, callId, dispatch, attempt: context.info.attempt };
    const evidence = () => this.liveness?.evidence ?? NOTHING_YET;
    this.journal = new TryJournal(dependencies.store, this.ref, evidence, (error) => this.endEarly(error));
    // Providers and sockets expect a DOMException; any other reason surfaces as an API error with status 200.
    context.cancellationSignal.addEventListener('abort', () => this.abortRequest());
    if (context.cancellationSignal.aborted) this.abortRequest();
  }

  /** Place of the model in the agent's chain. */
  private get link(): number {
    return this.input.link ?? 0;
  }

  /** What to throw for what was thrown. */
  failed(error: unknown): Error {
    const { phase, charsReceived } = this.liveness?.evidence ?? NOTHING_YET;
    const { attempt } = this.ref;
    const signal = this.context.cancellationSignal;
    const failure = toFailure(this.fatal ?? error, { attempt, phase: this.liveness ? phase : null, signal });
    const isUnsent = phase === 'setup' || phase === 'connect';
    this.isRefused = isUnsent || (isRefusal(failure) && charsReceived === 0);
    return failure;
  }

  async run(): Promise<CallModelResult> {
    const agent = this.requireAgent();
    this.liveness = this.watch(agent);
    const begun = await this.dependencies.store.beginTry(this.beginning(this.context.info));
    if (begun.kind === 'finished') return asOfThisAttempt(begun.result, this.ref.attempt);
    if (begun.kind === 'repeated') return { kind: 'repeated', first: begun.first };
    this.journal.open();
    if (begun.earlier) this.resume(begun.earlier, agent, this.liveness);
    this.unwatch = this.dependencies.watch.enter({ kind: 'callModel', ...this.ref }, (why) => this.endEarly(why));
    for (const message of begun.notices) {
      const key = `${this.input.chain}/restarted`;
      this.journal.add({ kind: 'Notice', code: 'session_restarted', message, isCallBoundary: false }, key);
    }
    const model = this.dependencies.modelOf(agent.definition, this.link);
    const reading = await this.dependencies.gates.pass(accountOf(model), () => this.ask(agent, model, begun.base));
    return this.finish(agent, begun, reading);
  }

  /** Whatever way the try ended: it beats no more, writes no more, and asks for no more. */
  release(): void {
    this.isReleased = true;
    this.unwatch();
    this.liveness?.stop();
    this.abortRequest();
    void this.journal.close();
    if (!this.hasEnded) void this.dependencies.store.endTry(this.ref, this.end()).catch(() => undefined);
  }

  private end(): TryEnd {
    const { isRefused, liveness } = this;
    return liveness ? { isRefused, evidence: liveness.evidence } : { isRefused };
  }

  private requireAgent(): Agent {
    const { agent: name, profileVersion: version, sessionId, channel } = this.input;
    const agent = this.dependencies.agents.get(name);
    if (!agent) {
      const known = [...this.dependencies.agents.keys()].join(', ');
      throw new AgentUnavailableError(
        `agent "${name}" is not defined on this worker (it has: ${known}); start it with the agent's file (--agent FILE), then: vigil resume ${sessionId}`,
      );
    }
    if (version !== profileVersion(agent.profile)) throw new ProfileChangedError(agent.profile);
    const { channels } = this.dependencies;
    if (channel !== undefined && !channels.has(channel)) throw new ChannelUndeclaredError(channel, channels);
    return agent;
  }

  private watch({ profile }: Agent): Liveness {
    return new Liveness({
      budgetsMs: budgetsOfLink(profile, this.link),
      // What a beat vouches for is in the journal before the beat goes out.
      beat: (progress) => void this.journal.flush().then(() => this.heartbeat(progress)),
      warn: (stall) => this.journal.add({ kind: 'StallWarning', ...stall, ...this.ofTry() }),
    });
  }

  /** A model that has answered once may not be waited for as if it never had. */
  private resume(earlier: EarlierTries, { profile }: Agent, liveness: Liveness): void {
    const { hasStreamed, firstTokenMs, ...seen } = earlier;
    const budgetsMs = budgetsOfLink(profile, this.link);
    const prefillMs = hasStreamed ? promotedPrefillMs(budgetsMs, firstTokenMs) : budgetsMs.prefill;
    liveness.setPrefillBudget(prefillMs);
    const { sessionId, callId, dispatch, attempt } = this.ref;
    const { phase, count, estimatedInputTokens } = seen;
    this.context.log.warn('asking the model again', {
      ...{ sessionId, callId, dispatch, attempt },
      ...{ earlierTries: count, earlierPhase: phase, hadStreamed: hasStreamed, prefillMs, estimatedInputTokens },
    });
  }

  private heartbeat(progress: Omit<Progress, 'try'>): void {
    const { dispatch, attempt } = this.ref;
    const details: Progress = { ...progress, try: { dispatch, attempt } };
    if (!this.isReleased) this.context.heartbeat(details);
  }

  private beginning(info: Info) {
    const { chain, agent, turnId, head, append, outputs } = this.input;
    return {
      ...this.ref,
      ...{ chain, agent, turnId, head, append, outputs, link: this.link },
      inputHash: createHash('sha256').update(JSON.stringify({ head, append })).digest('hex'),
      workerInstance: this.dependencies.workerInstance,
      taskToken: Buffer.from(info.taskToken).toString('base64'),
    };
  }

  private async ask(agent: Agent, model: LanguageModelV3, base: string | null): Promise<StreamReading> {
    const { store } = this.dependencies;
    const { instructions } = agent.definition;
    const { maxOutputTokens, outputCharsPerCall: maxChars } = agent.callLimits;
    const liveness = this.liveness!;
    const entries = entriesFor(agent.models[this.link]!, await store.transcript(this.input.sessionId, base));
    const prompt = await toPrompt(entries, instructions, store);
    const signal = this.abort.signal;
    liveness.enter('connect');
    const request = onRequestSent(
      () => this.onRequestSent(liveness),
      async () =>
        model.doStream({
          prompt,
          abortSignal: signal,
          providerOptions: PROVIDER_OPTIONS,
          ...(agent.functionTools.length > 0 ? { tools: agent.functionTools } : {}),
          ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        }),
    );
    const { stream } = await unlessAborted(request, signal);
    this.onRequestSent(liveness);
    const listener = {
      onText: (text: string) => this.journal.add({ kind: 'TextDelta', text, ...this.ofTry() }),
      onReasoning: (text: string) => this.journal.add({ kind: 'ReasoningDelta', text, ...this.ofTry() }),
    };
    return readStream(stream, { liveness, listener, signal, maxChars });
  }

  /** Told by the HTTP client; a model that does not use it has certainly sent its request when its stream is there. */
  private onRequestSent(liveness: Liveness): void {
    if (liveness.current === 'connect') liveness.enter('prefill');
  }

  private async finish(
    agent: Agent,
    begun: Extract<BegunTry, { kind: 'begun' }>,
    reading: StreamReading,
  ): Promise<CallModelResult> {
    this.liveness?.enter('finish');
    const finish = judgeFinish(reading);
    const model = agent.models[this.link]!;
    const content = this.contentOf(reading, finish === 'toolCalls');
    const usage = usageOf(reading.finish!.usage);
    const text = content.map((part) => (part.kind === 'text' ? part.text : '')).join('');
    const toolCalls = toolCallRefs(content, agent);
    const completed = {
      head: assistantEntryId(this.input.callId),
      usage,
      model,
      attempt: this.ref.attempt,
      repeats: begun.repeats,
    };
    const isLast = toolCalls.length === 0;
    const ending = {
      ...endingOf(finish, text.trim() !== ''),
      endedAtMs: Math.max(this.input.settlement.startedAtMs, Date.now()),
    };
    const result: AnsweredResult = isLast
      ? { kind: 'answered', ...ending, ...completed }
      : { kind: 'toolCalls', toolCalls, ...completed };
    const outputs = [
      ...(await this.journal.close()),
      this.keyed('text', { kind: 'TextOutput', text, isCallBoundary: true, ...this.ofTry() }),
      this.keyed('usage', { kind: 'Usage', usage, model, ...this.ofTry() }),
    ];
    if (this.fatal) throw this.fatal;
    const { turnId } = this.input;
    await this.dependencies.store.finishTry({
      ...this.ref,
      turnId,
      parentId: begun.base,
      content,
      model,
      usage,
      outputs,
      result,
      ...(isLast ? { settles: this.settling(ending, usage, begun.repeats) } : {}),
    });
    this.hasEnded = true;
    return result;
  }

  /** The turn's outcome and what became of its items, as the session would have them recorded. */
  private settling(ending: Ending, usage: Usage, repeats: ItemRecord[]): RecordInput {
    const { sessionId, chain, agent, turnId, settlement } = this.input;
    const { source, silent, startedAtMs, items, queued } = settlement;
    const outcome = { turnId, ...ending, source, silent, startedAtMs, usage: addUsage(settlement.usage, usage) };
    const isRepeat = (itemId: string) => repeats.some((repeat) => repeat.itemId === itemId);
    const fates = items
      .filter(({ itemId }) => !isRepeat(itemId))
      .map((item): ItemRecord => ({
        ...item,
        turnId,
        fate: item.itemId === itemIdOf(source) ? 'answered' : 'steered',
      }));
    const status = queued > 0 ? 'running' : 'idle';
    return { sessionId, chain, agent, status, queued, outputs: [], outcomes: [outcome], items: fates };
  }

  /** Tool calls of an answer that was cut are left out: their arguments may be incomplete, and they will have no result. */
  private contentOf({ parts }: StreamReading, withCalls: boolean): AssistantPart[] {
    const { callId } = this.input;
    let calls = 0;
    return parts
      .filter((part) => (part.kind === 'toolCall' ? withCalls : part.text !== '' || part.providerOptions !== undefined))
      .map((part) => (part.kind === 'toolCall' ? { ...part, toolCallId: `${callId}.t${++calls}` } : part));
  }

  private ofTry() {
    const { turnId, callId } = this.input;
    return { turnId, callId, try: { dispatch: this.ref.dispatch, attempt: this.ref.attempt } };
  }

  private keyed(name: string, body: OutputBody): NewOutput {
    return { ...body, key: `${this.input.callId}/${name}` };
  }

  private endEarly(error: unknown): void {
    this.fatal ??= error;
    this.abortRequest();
  }

  private abortRequest(): void {
    this.abort.abort(new DOMException('the call is no longer wanted', 'AbortError'));
  }
}

const NOTHING_YET: Evidence = { phase: 'setup', charsReceived: 0, firstTokenMs: null };

type Ending = ReturnType<typeof endingOf> & { endedAtMs: number };

/** What the attempt before this one had stored but could not report. */
function asOfThisAttempt(result: CallModelResult, attempt: number): CallModelResult {
  return result.kind === 'repeated' ? result : { ...result, attempt };
}

function toolCallRefs(content: AssistantPart[], agent: Agent): ToolCallRef[] {
  const calls = content.filter((part) => part.kind === 'toolCall');
  if (calls.length > LIMITS.toolCallsPerCall) {
    throw new OutputLimitError(
      `the model called ${calls.length} tools at once; ${LIMITS.toolCallsPerCall} are allowed`,
    );
  }
  return calls.map(({ toolCallId, name }) => {
    const tool = agent.tools.get(name);
    return {
      toolCallId,
      name: name.slice(0, LIMITS.idChars),
      heartbeatTimeoutMs: tool?.silenceMs ?? DEFAULT_TOOL_SILENCE_MS,
      maximumAttempts: tool?.idempotent ? IDEMPOTENT_ATTEMPTS : 1,
    };
  });
}
