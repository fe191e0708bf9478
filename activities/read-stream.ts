import type { LanguageModelV3FinishReason, LanguageModelV3StreamPart, LanguageModelV3Usage } from '@ai-sdk/provider';
import { setTimeout as delay } from 'node:timers/promises';
import type { AssistantPart } from '../store/session-store.js';
import type { Liveness } from './liveness.js';

/** What a provider's stream came to; how good that is, is judged elsewhere. */
export interface StreamReading {
  parts: AssistantPart[];
  /** `null` when the stream ended without one. */
  finish: { reason: LanguageModelV3FinishReason; usage: LanguageModelV3Usage } | null;
}

export interface StreamListener {
  onText(delta: string): void;
  onReasoning(delta: string): void;
}

interface Reading {
  readonly liveness: Liveness;
  readonly listener: StreamListener;
  readonly signal: AbortSignal;
  /** Characters that the answer may have: text, reasoning and tool arguments. */
  readonly maxChars: number;
}

/** An error inside a stream, as the provider library gave it: an error of its own, or what the provider sent. */
export class ErrorPart extends Error {
  override name = 'ErrorPart';
  constructor(readonly part: unknown) {
    super('the stream carried an error');
  }
}

/** A model that goes on and on is stopped here: its progress is real, so silence never ends it. */
export class OutputLimitError extends Error {
  override name = 'OutputLimitError';
}

type Block = Extract<AssistantPart, { kind: 'text' | 'reasoning' }>;

/** Milliseconds that a stream may take to close after its finish. Its connection is used again if it does. */
const CLOSING_MS = 500;

/**
 * Reads a stream to its finish, moving the try's liveness by what was really received: decoded, non-empty content, and the first
 * mark of a block after content. An error part ends it at once: whatever follows, this try is no answer.
 * What a connection does after the finish (a reset, no end) takes nothing back.
 *
 * @throws ErrorPart, OutputLimitError, and what the stream throws.
 */
export async function readStream(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  { liveness, listener, signal, maxChars }: Reading,
): Promise<StreamReading> {
  const reader = new StreamReader(liveness, listener, maxChars);
  const source = stream.getReader();
  try {
    while (reader.reading.finish === null) {
      const { done, value } = await unlessAborted(source.read(), signal);
      if (done) break;
      reader.take(value);
    }
    if (reader.reading.finish !== null) await closing(source);
    return reader.reading;
  } finally {
    void source.cancel().catch(() => undefined);
  }
}

async function closing(source: ReadableStreamDefaultReader<LanguageModelV3StreamPart>): Promise<void> {
  const limit = new AbortController();
  const drained = (async () => {
    while (!(await source.read()).done && !limit.signal.aborted);
  })();
  await Promise.race([drained.catch(() => undefined), delay(CLOSING_MS, undefined, { signal: limit.signal })]);
  limit.abort();
}

/** A provider library may leave a promise hanging when it is aborted; the try must end all the same. */
export async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort = () => undefined as void;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

class StreamReader {
  readonly reading: StreamReading = { parts: [], finish: null };
  private readonly blocks = new Map<string, Block>();
  /** Characters of arguments that came as deltas, so that the whole call does not count them again. */
  private readonly inputChars = new Map<string, number>();
  private hasContentSinceMark = true;
  private chars = 0;

  constructor(
    private readonly liveness: Liveness,
    private readonly listener: StreamListener,
    private readonly maxChars: number,
  ) {}

  take(part: LanguageModelV3StreamPart): void {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.openBlock(part.type === 'text-start' ? 'text' : 'reasoning', part);
        return;
      case 'text-delta':
        this.extend('text', part, (delta) => this.listener.onText(delta));
        return;
      case 'reasoning-delta':
        this.extend('reasoning', part, (delta) => this.listener.onReasoning(delta));
        return;
      case 'text-end':
      case 'reasoning-end':
        this.closeBlock(part);
        return;
      case 'tool-input-start':
        this.mark('streaming');
        return;
      case 'tool-input-delta':
        this.inputChars.set(part.id, (this.inputChars.get(part.id) ?? 0) + part.delta.length);
        this.content('streaming', part.delta.length);
        return;
      case 'tool-input-end':
        this.mark('thinkingGap');
        return;
      case 'tool-call':
        this.addToolCall(part);
        return;
      case 'finish':
        this.reading.finish = { reason: part.finishReason, usage: part.usage };
        this.liveness.enter('finish');
        return;
      case 'error':
        throw new ErrorPart(part.error);
      default:
        return; // Everything else is neither content nor progress.
    }
  }

  private openBlock(kind: Block['kind'], part: { id: string; providerMetadata?: unknown }): void {
    const block: Block = { kind, text: '', ...optionsOf(part) };
    this.blocks.set(`${kind}/${part.id}`, block);
    this.reading.parts.push(block);
    // Many servers open the text with an empty piece while they still read the prompt.
    if (kind === 'text' && this.chars === 0) return;
    this.mark(kind === 'text' ? 'streaming' : 'reasoning');
  }

  private extend(
    kind: Block['kind'],
    part: { id: string; delta: string; providerMetadata?: unknown },
    tell: (delta: string) => void,
  ): void {
    let block = this.blocks.get(`${kind}/${part.id}`);
    if (!block) {
      this.openBlock(kind, part);
      block = this.blocks.get(`${kind}/${part.id}`)!;
    }
    block.text += part.delta;
    Object.assign(block, optionsOf(part));
    this.content(kind === 'text' ? 'streaming' : 'reasoning', part.delta.length);
    if (part.delta !== '') tell(part.delta);
  }

  private closeBlock(part: { type: string; id: string; providerMetadata?: unknown }): void {
    const block = this.blocks.get(`${part.type === 'text-end' ? 'text' : 'reasoning'}/${part.id}`);
    if (block) Object.assign(block, optionsOf(part));
    this.mark('thinkingGap');
  }

  private addToolCall(part: Extract<LanguageModelV3StreamPart, { type: 'tool-call' }>): void {
    const known = this.inputChars.get(part.toolCallId) ?? 0;
    this.content('thinkingGap', Math.max(0, part.input.length - known) + part.toolName.length);
    if (part.providerExecuted) return;
    this.reading.parts.push({
      kind: 'toolCall',
      toolCallId: '',
      providerCallId: part.toolCallId,
      name: part.toolName,
      input: part.input,
      ...optionsOf(part),
    });
  }

  private content(phase: 'streaming' | 'reasoning' | 'thinkingGap', chars: number): void {
    if (chars === 0) return;
    this.liveness.switchTo(phase);
    this.hasContentSinceMark = true;
    this.liveness.received(chars);
    this.chars += chars;
    if (this.chars <= this.maxChars) return;
    throw new OutputLimitError(`the model wrote more than ${this.maxChars} characters in one call and was stopped`);
  }

  /** A block's start or end is progress only after content: a stream of empty blocks is silence. */
  private mark(phase: 'streaming' | 'reasoning' | 'thinkingGap'): void {
    if (this.hasContentSinceMark) this.liveness.enter(phase);
    else this.liveness.switchTo(phase);
    this.hasContentSinceMark = false;
  }
}

/** What a provider attaches to a block (signatures, ids) must go back to it unchanged. */
function optionsOf(part: { providerMetadata?: unknown }): { providerOptions?: Record<string, unknown> } {
  return part.providerMetadata === undefined
    ? {}
    : { providerOptions: part.providerMetadata as Record<string, unknown> };
}
