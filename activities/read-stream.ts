import type { LanguageModelV3FinishReason, LanguageModelV3StreamPart, LanguageModelV3Usage } from '@ai-sdk/provider';
import type { AssistantPart } from '../store/session-store.js';
import type { Liveness } from './liveness.js';

/** What a provider's stream came to; how good that is, is judged elsewhere. */
export interface StreamReading {
  parts: AssistantPart[];
  finish: { reason: LanguageModelV3FinishReason; usage: LanguageModelV3Usage } | null;
  /** The first error part, as the provider gave it; `undefined` when there was none. */
  error: unknown;
}

export interface StreamListener {
  onText(delta: string): void;
  onReasoning(delta: string): void;
}

type Block = Extract<AssistantPart, { kind: 'text' | 'reasoning' }>;

/**
 * Reads a stream to its end, moving the try's liveness by what was really received: decoded, non-empty content, and the first
 * mark of a block after content. Throws what the stream throws.
 */
export async function readStream(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  { liveness, listener, signal }: { liveness: Liveness; listener: StreamListener; signal: AbortSignal },
): Promise<StreamReading> {
  const collected = new StreamReader(liveness, listener);
  const source = stream.getReader();
  const aborted = rejectionOnAbort(signal);
  try {
    for (;;) {
      const { done, value } = await Promise.race([source.read(), aborted.promise]);
      if (done) return collected.reading;
      collected.take(value);
    }
  } finally {
    aborted.release();
    void source.cancel().catch(() => undefined);
  }
}

/** A provider library may leave a read hanging when it is aborted; the try must end all the same. */
function rejectionOnAbort(signal: AbortSignal): { promise: Promise<never>; release(): void } {
  let onAbort: () => void;
  const promise = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  promise.catch(() => undefined);
  return { promise, release: () => signal.removeEventListener('abort', onAbort) };
}

class StreamReader {
  readonly reading: StreamReading = { parts: [], finish: null, error: undefined };
  private readonly blocks = new Map<string, Block>();
  private hasContentSinceMark = true;

  constructor(
    private readonly liveness: Liveness,
    private readonly listener: StreamListener,
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
        this.reading.error ??= part.error ?? new Error('the provider sent an error without content');
        return;
      default:
        return; // Everything else is neither content nor progress.
    }
  }

  private openBlock(kind: Block['kind'], part: { id: string; providerMetadata?: unknown }): void {
    const block: Block = { kind, text: '', ...optionsOf(part) };
    this.blocks.set(`${kind}/${part.id}`, block);
    this.reading.parts.push(block);
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
    this.content('thinkingGap', part.input.length + part.toolName.length);
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
    this.liveness.switchTo(phase);
    if (chars === 0) return;
    this.hasContentSinceMark = true;
    this.liveness.received(chars);
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
