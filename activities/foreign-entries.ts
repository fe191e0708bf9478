import type { AssistantPart, Entry } from '../store/session-store.js';

/**
 * A transcript as a model may be sent it. What another model said stays; what is its provider's own goes: reasoning with its signature,
 * metadata, and ids of calls, whose form one provider allows and another refuses.
 */
export function entriesFor(model: string, entries: Entry[]): Entry[] {
  return entries.map((entry) => {
    const { content } = entry;
    if (content.kind !== 'assistant' || content.model === model) return entry;
    return { ...entry, content: { ...content, parts: content.parts.flatMap(plain) } };
  });
}

function plain(part: AssistantPart): AssistantPart[] {
  if (part.kind === 'reasoning') return [];
  const { providerOptions: _, ...rest } = part;
  return [rest.kind === 'toolCall' ? { ...rest, providerCallId: ownCallId(rest.toolCallId) } : rest];
}

/** Ours is unique in its session; only letters, digits, "-" and "_" are taken everywhere. */
function ownCallId(toolCallId: string): string {
  return toolCallId.replace(/[^A-Za-z0-9_-]/g, '_');
}
