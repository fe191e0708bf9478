import { Context, type Info } from '@temporalio/activity';
import { createHash } from 'node:crypto';
import type { CallModelInput, CallModelResult, TryRef } from '../protocol/calls.js';
import type { NewOutput, OutputBody } from '../protocol/outputs.js';
import { LIMITS } from '../protocol/limits.js';
import { profileVersion } from '../protocol/liveness.js';
import type { AssistantPart, BegunTry } from '../store/session-store.js';
import { AgentUnavailableError, ProfileChangedError } from './activity-errors.js';
import type { Agent } from './agents.js';
import { toFailure } from './classify-error.js';
import type { Dependencies } from './dependencies.js';
import { judgeFinish } from './finish-table.js';
import { Liveness } from './liveness.js';
import { onRequestSent } from './model-http.js';
import { toFunctionTools, toPrompt } from './prompt.js';
import { readStream, type StreamReading } from './read-stream.js';
import { DEFAULT_TOOL_SILENCE_MS, IDEMPOTENT_ATTEMPTS } from './tool-policy.js';
import { TryJournal } from './try-journal.js';
import { usageOf } from './usage-of.js';

/** The `callModel` activity: one attempt is one try, and one try is at most one provider request. */
export function createCallModel(dependencies: Dependencies) {
  return async function callModel(input: CallModelInput): Promise<CallModelResult> {
    const context = Context.current();
    const modelTry = new ModelTry(dependencies, input, context);
    try {
      return await modelTry.run();
    } catch (error) {
      throw toFailure(modelTry.fatal ?? error, {
        attempt: context.info.attempt,
        phase: modelTry.phase,
        signal: context.cancellationSignal,
      });
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

  constructor(
    private readonly dependencies: Dependencies,
    private readonly input: CallModelInput,
    private readonly context: Context,
  ) {
    const { sessionId, callId, dispatch } = input;
    this.ref = { sessionId, callId, dispatch, attempt: context.info.attempt };
    this.journal = new TryJournal(dependencies.store, this.ref, (error) => this.endEarly(error));
    // Providers and sockets expect a DOMException; any other reason surfaces as an API error with status 200.
    context.cancellationSignal.addEventListener('abort', () => this.abortRequest());
    if (context.cancellationSignal.aborted) this.abortRequest();
  }

  get phase(): string | null {
    return this.liveness?.current ?? null;
  }

  async run(): Promise<CallModelResult> {
    const agent = this.requireAgent();
    this.liveness = this.watch(agent);
    const begun = await this.dependencies.store.beginTry(this.beginning(this.context.info));
    if (begun.kind === 'finished') return begun.result;
    if (begun.kind === 'repeated') return { kind: 'repeated', first: begun.first };
    for (const message of begun.notices) {
      this.journal.add({ kind: 'Notice', code: 'session_restarted', message, isCallBoundary: false });
    }
    const reading = await this.ask(agent, begun.base, this.liveness);
    if (reading.error !== undefined) throw reading.error;
    return this.finish(agent, begun, reading);
  }

  release(): void {
    this.liveness?.stop();
    void this.journal.close();
    if (!this.hasEnded) void this.dependencies.store.endTry(this.ref).catch(() => undefined);
  }

  private requireAgent(): Agent {
    const { agent: name, profileVersion: version, sessionId } = this.input;
    const agent = this.dependencies.agents.get(name);
    if (!agent) {
      const known = [...this.dependencies.agents.keys()].join(', ');
      throw new AgentUnavailableError(
        `agent "${name}" is not defined on this worker (it has: ${known}); start it with the agent's file (--agent FILE), then: vigil resume ${sessionId}`,
      );
    }
    if (version !== profileVersion(agent.profile)) throw new ProfileChangedError(agent.profile);
    return agent;
  }

  private watch({ profile }: Agent): Liveness {
    return new Liveness({
      budgetsMs: profile.budgetsMs,
      // What a beat vouches for is in the journal before the beat goes out.
      beat: (progress) => void this.journal.flush().then(() => this.context.heartbeat(progress)),
      warn: (stall) => this.journal.add({ kind: 'StallWarning', ...stall, ...this.ofTry() }),
    });
  }

  private beginning(info: Info) {
    const { chain, agent, turnId, head, append, outputs } = this.input;
    return {
      ...this.ref,
      ...{ chain, agent, turnId, head, append, outputs },
      inputHash: createHash('sha256').update(JSON.stringify({ head, append })).digest('hex'),
      workerInstance: this.dependencies.workerInstance,
      taskToken: Buffer.from(info.taskToken).toString('base64'),
    };
  }

  private async ask(agent: Agent, base: string | null, liveness: Liveness): Promise<StreamReading> {
    const { store, modelOf } = this.dependencies;
    const { instructions, maxOutputTokens } = agent.definition;
    const model = modelOf(agent.definition);
    const prompt = await toPrompt(await store.transcript(this.input.sessionId, base), instructions, store);
    const signal = this.abort.signal;
    liveness.enter('connect');
    const { stream } = await onRequestSent(
      () => liveness.enter('prefill'),
      () =>
        model.doStream({
          prompt,
          abortSignal: signal,
          ...(agent.tools.size > 0 ? { tools: toFunctionTools(agent.tools.values()) } : {}),
          ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
        }),
    );
    if (liveness.current === 'connect') liveness.enter('prefill');
    const listener = {
      onText: (text: string) => this.journal.add({ kind: 'TextDelta', text, ...this.ofTry() }),
      onReasoning: (text: string) => this.journal.add({ kind: 'ReasoningDelta', text, ...this.ofTry() }),
    };
    return readStream(stream, { liveness, listener, signal });
  }

  private async finish(
    agent: Agent,
    begun: Extract<BegunTry, { kind: 'begun' }>,
    reading: StreamReading,
  ): Promise<CallModelResult> {
    this.liveness?.enter('finish');
    const finish = judgeFinish(reading);
    const { model } = agent;
    const content = this.contentOf(reading, finish === 'toolCalls');
    const usage = usageOf(reading.finish!.usage);
    const text = content.map((part) => (part.kind === 'text' ? part.text : '')).join('');
    const result: CallModelResult = {
      kind: 'answered',
      head: `${this.input.callId}.out`,
      finish,
      hasText: text !== '',
      toolCalls: finish === 'toolCalls' ? toolCallRefs(content, agent) : [],
      usage,
      model,
      attempt: this.ref.attempt,
      repeats: begun.repeats,
    };
    const outputs = [
      ...(await this.journal.close()),
      this.keyed('text', { kind: 'TextOutput', text, isCallBoundary: true, ...this.ofTry() }),
      this.keyed('usage', { kind: 'Usage', usage, model, ...this.ofTry() }),
    ];
    if (this.fatal) throw this.fatal;
    const { turnId } = this.input;
    await this.dependencies.store.finishTry({ ...this.ref, turnId, parentId: begun.base, content, model, usage, outputs, result });
    this.hasEnded = true;
    return result;
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

function toolCallRefs(content: AssistantPart[], agent: Agent) {
  return content
    .filter((part) => part.kind === 'toolCall')
    .map(({ toolCallId, name }) => {
      const tool = agent.tools.get(name);
      return {
        toolCallId,
        name: name.slice(0, LIMITS.idChars),
        heartbeatTimeoutMs: tool?.silenceMs ?? DEFAULT_TOOL_SILENCE_MS,
        maximumAttempts: tool?.idempotent ? IDEMPOTENT_ATTEMPTS : 1,
      };
    });
}
