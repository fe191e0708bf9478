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

/** The provider's prompt for a transcript. Every tool call in it has a result: one that is missing gets an error result (no orphans). */
export async function toPrompt(
  entries: Entry[],
  instructions: string | undefined,
  store: Pick<SessionStore, 'getBlob'>,
): Promise<LanguageModelV3Prompt> {
  const prompt: LanguageModelV3Prompt = instructions ? [{ role: 'system', content: instructions }] : [];
  let open = new Map<string, AssistantToolCall>();
  const closeOrphans = () => {
    for (const call of open.values()) pushResult(prompt, call, { ok: false, output: 'This call has no result.' });
    open = new Map();
  };
  for (const { content } of entries) {
    if (content.kind === 'tool') {
      const call = open.get(content.toolCallId);
      if (call) pushResult(prompt, call, content.result);
      open.delete(content.toolCallId);
      continue;
    }
    closeOrphans();
    if (content.kind === 'user') {
      prompt.push({ role: 'user', content: await Promise.all(content.parts.map((part) => toUserPart(part, store))) });
    } else if (content.parts.length > 0) {
      prompt.push({ role: 'assistant', content: content.parts.map(toAssistantPart) });
      open = new Map(content.parts.filter(isToolCall).map((call) => [call.toolCallId, call]));
    }
  }
  closeOrphans();
  return prompt;
}

type AssistantToolCall = Extract<AssistantPart, { kind: 'toolCall' }>;
const isToolCall = (part: AssistantPart): part is AssistantToolCall => part.kind === 'toolCall';

/** Results of one assistant message stand together in one tool message. */
function pushResult(prompt: LanguageModelV3Prompt, call: AssistantToolCall, result: ToolResult): void {
  const part: ToolMessage['content'][number] = {
    type: 'tool-result',
    toolCallId: call.providerCallId,
    toolName: call.name,
    output: { type: result.ok ? 'text' : 'error-text', value: shown(result.output) },
  };
  const last = prompt.at(-1);
  if (last?.role === 'tool') last.content.push(part);
  else prompt.push({ role: 'tool', content: [part] });
}

function shown(output: string): string {
  if (output.length <= LIMITS.toolResultChars) return output;
  return `${output.slice(0, LIMITS.toolResultChars)}\n[cut: ${output.length - LIMITS.toolResultChars} of ${output.length} characters are not shown]`;
}

async function toUserPart(
  part: Part,
  store: Pick<SessionStore, 'getBlob'>,
): Promise<LanguageModelV3TextPart | LanguageModelV3FilePart> {
  if (part.kind === 'text' && 'text' in part) return { type: 'text', text: part.text };
  const filename = part.kind === 'file' && part.name !== undefined ? { filename: part.name } : {};
  if (/^https?:/.test(part.ref)) {
    if (part.kind === 'text') throw new PromptError('a text part must refer to a stored text, not to an address');
    return { type: 'file', mediaType: part.mediaType, data: new URL(part.ref), ...filename };
  }
  const blob = await store.getBlob(part.ref);
  if (!blob) throw new PromptError(`the store holds no content ${part.ref}; send the message again with its content`);
  if (part.kind === 'text') return { type: 'text', text: new TextDecoder().decode(blob.bytes) };
  return { type: 'file', mediaType: part.mediaType, data: blob.bytes, ...filename };
}

function toAssistantPart(part: AssistantPart): Extract<LanguageModelV3Message, { role: 'assistant' }>['content'][number] {
  const options = part.providerOptions ? { providerOptions: part.providerOptions as SharedV3ProviderOptions } : {};
  if (part.kind !== 'toolCall') return { type: part.kind, text: part.text, ...options };
  return {
    type: 'tool-call',
    toolCallId: part.providerCallId,
    toolName: part.name,
    input: parsedInput(part.input),
    ...options,
  };
}

/** Providers want arguments as an object; what the model got wrong goes back to it in a form they accept. */
function parsedInput(input: string): unknown {
  try {
    const parsed: unknown = input.trim() === '' ? {} : JSON.parse(input);
    return typeof parsed === 'object' && parsed !== null ? parsed : { invalid: input };
  } catch {
    return { invalid: input };
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
