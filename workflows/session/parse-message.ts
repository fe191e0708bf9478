import { CHANNEL_NAME_RULE, isChannelName } from '../../protocol/channels.js';
import { RESERVED_ID_PREFIXES } from '../../protocol/fates.js';
import { LIMITS } from '../../protocol/limits.js';
import type { Message, Part } from '../../protocol/messages.js';

const BLOB = /^blob:[0-9a-f]{64}$/;
const ADDRESS = /^https?:\/\/\S+$/;
const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+$/;

/** Reads the payload of a `message` signal that anyone may have sent: a message, or what is wrong with it and what to do. */
export function parseMessage(payload: unknown): Message | { problem: string } {
  if (!isRecord(payload)) return { problem: 'a message must be an object like {"id":"m1","text":"hello"}' };
  if ('undecodable' in payload) return { problem: `the payload cannot be decoded: ${String(payload['undecodable'])}` };
  const { id, text, parts, mode, silent, isAutomated, channel } = payload;
  if (typeof id !== 'string' || id.length === 0 || id.length > LIMITS.idChars) {
    return { problem: `a message needs an "id" of 1 to ${LIMITS.idChars} characters` };
  }
  if (RESERVED_ID_PREFIXES.some((prefix) => id.startsWith(prefix))) {
    return {
      problem: `message "${id}": ids that begin with ${RESERVED_ID_PREFIXES.join(' or ')} belong to the session`,
    };
  }
  if (mode !== undefined && mode !== 'steer' && mode !== 'queue') {
    return { problem: `message "${id}": "mode" must be "steer" or "queue"` };
  }
  if (silent !== undefined && typeof silent !== 'boolean') {
    return { problem: `message "${id}": "silent" must be true or false` };
  }
  if (isAutomated !== undefined && typeof isAutomated !== 'boolean') {
    return { problem: `message "${id}": "isAutomated" must be true or false` };
  }
  if (channel !== undefined && !isChannelName(channel)) {
    return { problem: `message "${id}": "channel" ${CHANNEL_NAME_RULE}` };
  }
  const read = readParts(text, parts);
  if ('problem' in read) return { problem: `message "${id}": ${read.problem}` };
  const route = channel === undefined ? {} : { channel };
  const message: Message = {
    kind: 'message',
    id,
    parts: read.parts,
    mode: mode ?? 'steer',
    silent: silent ?? false,
    ...route,
  };
  return isAutomated ? { ...message, mode: 'queue', isAutomated } : message;
}

function readParts(text: unknown, parts: unknown): { parts: Part[] } | { problem: string } {
  if (text !== undefined && parts !== undefined) return { problem: 'give "text" or "parts", not both' };
  const list = parts ?? (text === undefined ? [] : [{ kind: 'text', text }]);
  if (!Array.isArray(list)) return { problem: '"parts" must be a list' };
  if (list.length === 0) return { problem: 'it has no content; give "text" or "parts"' };
  if (list.length > LIMITS.partsPerMessage) return { problem: `it has more than ${LIMITS.partsPerMessage} parts` };
  const read: Part[] = [];
  for (const candidate of list as unknown[]) {
    const part = readPart(candidate);
    if ('problem' in part) return part;
    read.push(part);
  }
  if (read.every((part) => 'text' in part && part.text.trim() === '')) return { problem: 'its text is empty' };
  const inline = read.reduce((sum, part) => sum + ('text' in part ? utf8Length(part.text) : 0), 0);
  if (inline > LIMITS.inlineTextBytes) {
    return {
      problem: `its text has ${inline} bytes; a signal may carry ${LIMITS.inlineTextBytes}: send it with the vigil client, which stores long text first`,
    };
  }
  return { parts: read };
}

function readPart(value: unknown): Part | { problem: string } {
  if (!isRecord(value)) return { problem: 'a part must be an object' };
  const { kind, text, ref, mediaType, name } = value;
  if (kind === 'text' && typeof text === 'string') return { kind, text };
  if (kind !== 'text' && kind !== 'image' && kind !== 'file') {
    return { problem: 'a part must be of kind "text", "image" or "file"' };
  }
  if (typeof ref !== 'string' || ref.length > LIMITS.referenceChars || !isReference(ref, kind)) {
    return {
      problem:
        kind === 'text'
          ? 'a text part needs "text" as a string, or "ref" as blob:<sha256>'
          : `a part of kind "${kind}" needs "ref" as blob:<sha256> or an http address`,
    };
  }
  if (kind === 'text') return { kind, ref };
  if (typeof mediaType !== 'string' || mediaType.length > LIMITS.idChars || !MEDIA_TYPE.test(mediaType)) {
    return { problem: `a part of kind "${kind}" needs "mediaType", like "image/png"` };
  }
  if (kind === 'image') return { kind, ref, mediaType };
  if (name !== undefined && (typeof name !== 'string' || name.length > LIMITS.idChars)) {
    return { problem: `a file's "name" must have at most ${LIMITS.idChars} characters` };
  }
  return { kind, ref, mediaType, ...(name === undefined ? {} : { name }) };
}

/** An address that cannot be parsed would fail every request that it is part of. */
function isReference(ref: string, kind: Part['kind']): boolean {
  return BLOB.test(ref) || (kind !== 'text' && ADDRESS.test(ref) && URL.canParse(ref));
}

export const isBlobReference = (ref: string): boolean => BLOB.test(ref);

function isRecord(value: unknown): value is Record<string, unknown> & { [K in MessageField]?: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
type MessageField =
  'id' | 'text' | 'parts' | 'mode' | 'silent' | 'isAutomated' | 'channel' | 'kind' | 'ref' | 'mediaType' | 'name';

/** Bytes of a string as UTF-8, without an encoder: the workflow sandbox need not have one. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (const character of text) {
    const code = character.codePointAt(0)!;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  }
  return bytes;
}
