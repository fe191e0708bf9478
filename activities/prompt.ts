import type {
  LanguageModelV3FilePart,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3TextPart,
  SharedV3ProviderOptions,
} from '@ai-sdk/provider';
import { z } from 'zod';
import { LIMITS } from '../protocol/limits.js';
import type { Part } from '../protocol/messages.js';
import type { AssistantPart, Entry, SessionStore, ToolResult } from '../store/session-store.js';
import type { ToolDefinition } from './agent.js';

/** Content that a request cannot carry; the message says which and what to do. */
export class PromptError extends Error {
  override name = 'PromptError';
}

type ToolMessage = Extract<LanguageModelV3Message, { role: 'tool' }>;

/**
 * The provider's prompt for a transcript: the same transcript gives the same prompt, byte for byte.
 *
 * I1 Every tool call has exactly one result, in call order, right after its message; one that is missing gets an error result.
 * I2 What a model once produced never makes a request that its provider refuses: a session with such an entry would be refused for ever.
 */
export async function toPrompt(
  entries: Entry[],
  instructions: string | undefined,
  store: Pick<SessionStore, 'getBlob'>,
): Promise<LanguageModelV3Prompt> {
  const prompt: LanguageModelV3Prompt = instructions ? [{ role: 'system', content: instructions }] : [];
  let open: OpenCall[] = [];
  const closeCalls = () => {
    if (open.length > 0) prompt.push({ role: 'tool', content: open.map(toToolResult) });
    open = [];
  };
  for (const { content } of entries) {
    if (content.kind === 'tool') {
      const call = open.find((each) => each.call.toolCallId === content.toolCallId);
      if (call) call.result ??= content.result;
      continue;
    }
    closeCalls();
    if (content.kind === 'user') {
      prompt.push({ role: 'user', content: await Promise.all(content.parts.map((part) => toUserPart(part, store))) });
      continue;
    }
    const parts = sendable(content.isInterrupted ? marked(content.parts) : content.parts);
    if (parts.length === 0) continue;
    prompt.push({ role: 'assistant', content: parts.map(toAssistantPart) });
    open = parts.filter(isToolCall).map((call) => ({ call, result: null }));
  }
  closeCalls();
  return prompt;
}

type AssistantToolCall = Extract<AssistantPart, { kind: 'toolCall' }>;
const isToolCall = (part: AssistantPart): part is AssistantToolCall => part.kind === 'toolCall';

interface OpenCall {
  call: AssistantToolCall;
  result: ToolResult | null;
}

const NO_RESULT: ToolResult = { ok: false, output: 'This call has no result.' };

function toToolResult({ call, result }: OpenCall): ToolMessage['content'][number] {
  const { ok, output } = result ?? NO_RESULT;
  return {
    type: 'tool-result',
    toolCallId: call.providerCallId,
    toolName: toolName(call),
    output: { type: ok ? 'text' : 'error-text', value: wellFormed(shown(output)) },
  };
}

/** The model must not take for a whole answer what it had no chance to finish. */
function marked(parts: AssistantPart[]): AssistantPart[] {
  return parts.map((part) => (part.kind === 'text' ? { ...part, text: `${part.text}${INTERRUPTED}` } : part));
}

const INTERRUPTED = ' … [interrupted by the user]';

/** I2: Anthropic refuses texts of spaces alone; it and OpenAI refuse reasoning that nothing follows. */
function sendable(parts: AssistantPart[]): AssistantPart[] {
  const said = parts.filter((part) => part.kind !== 'text' || part.text.trim() !== '');
  return said.slice(0, said.findLastIndex((part) => part.kind !== 'reasoning') + 1);
}

/** I2: half a surrogate pair becomes an escape that strict JSON readers refuse. A text that was cut by characters may end in one. */
function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD');
}

/** I2: a name that the model made up may hold what no provider takes as a tool's name. */
function toolName({ name }: AssistantToolCall): string {
  return name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, TOOL_NAME_CHARS) || 'unknown';
}

const TOOL_NAME_CHARS = 64;

function shown(output: string): string {
  if (output.length <= LIMITS.toolResultChars) return output;
  return `${output.slice(0, LIMITS.toolResultChars)}\n[cut: ${output.length - LIMITS.toolResultChars} of ${output.length} characters are not shown]`;
}

async function toUserPart(
  part: Part,
  store: Pick<SessionStore, 'getBlob'>,
): Promise<LanguageModelV3TextPart | LanguageModelV3FilePart> {
  if (part.kind === 'text' && 'text' in part) return { type: 'text', text: wellFormed(part.text) };
  const filename = part.kind === 'file' && part.name !== undefined ? { filename: part.name } : {};
  if (/^https?:/.test(part.ref)) {
    if (part.kind === 'text') throw new PromptError('a text part must refer to a stored text, not to an address');
    if (!URL.canParse(part.ref)) throw new PromptError(`"${part.ref}" is not an address`);
    return { type: 'file', mediaType: part.mediaType, data: new URL(part.ref), ...filename };
  }
  const blob = await store.getBlob(part.ref);
  if (!blob) throw new PromptError(`the store holds no content ${part.ref}; send the message again with its content`);
  if (part.kind === 'text') return { type: 'text', text: new TextDecoder().decode(blob.bytes) };
  return { type: 'file', mediaType: part.mediaType, data: blob.bytes, ...filename };
}

function toAssistantPart(
  part: AssistantPart,
): Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number] {
  const options = part.providerOptions ? { providerOptions: part.providerOptions as SharedV3ProviderOptions } : {};
  if (part.kind !== 'toolCall') return { type: part.kind, text: wellFormed(part.text), ...options };
  return {
    type: 'tool-call',
    toolCallId: part.providerCallId,
    toolName: toolName(part),
    input: parsedInput(part.input),
    ...options,
  };
}

/** Providers want arguments as an object; what the model got wrong goes back to it in a form they accept. */
function parsedInput(input: string): unknown {
  try {
    const parsed: unknown = input.trim() === '' ? {} : JSON.parse(input);
    return typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      ? parsed
      : { invalid: wellFormed(input) };
  } catch {
    return { invalid: wellFormed(input) };
  }
}

export function toFunctionTools(tools: Iterable<ToolDefinition>): LanguageModelV3FunctionTool[] {
  return [...tools].map(({ name, description, input }) => ({
    type: 'function',
    name,
    description,
    inputSchema: z.toJSONSchema(input as z.ZodType, { io: 'input' }) as LanguageModelV3FunctionTool['inputSchema'],
  }));
}
