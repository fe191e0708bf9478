import { randomUUID } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { CHANNEL_NAME_RULE, isChannelName } from '../protocol/channels.js';
import { LIMITS } from '../protocol/limits.js';
import type { MessageMode, MessageSignal, Part, StoredTextPart, TextPart } from '../protocol/messages.js';
import type { WakePrompt } from '../protocol/wakes.js';
import type { SessionStore } from '../store/session-store.js';
import { SessionError } from './session-error.js';

/** A message as a caller writes it. */
export interface MessageInput {
  /** Yours, and the key of dedupe: sending the same id again is safe. Default: a random one. */
  id?: string;
  /** Up to 1 MiB; long text is stored first and sent by reference. */
  text?: string;
  attachments?: Attachment[];
  mode?: MessageMode;
  silent?: boolean;
  /** A channel that the outcome goes to besides the journal; the workers' configuration must declare it. */
  channel?: string;
}

/** An image or a file, by content or by address; at most 20 MiB. */
export type Attachment = { kind: 'image' | 'file'; mediaType: string; name?: string } & (
  { bytes: Uint8Array } | { url: string }
);

/**
 * Checks a message and stores what must not cross history.
 * @throws SessionError `invalid_input`, naming the limit
 */
export async function toSignal(input: MessageInput, store: Pick<SessionStore, 'putBlob'>): Promise<MessageSignal> {
  const id = input.id ?? randomUUID();
  if (id === '' || id.length > LIMITS.idChars) throw invalid(`a message id has 1 to ${LIMITS.idChars} characters`);
  if (input.channel !== undefined && !isChannelName(input.channel))
    throw invalid(`a channel's name ${CHANNEL_NAME_RULE}`);
  const attachments = input.attachments ?? [];
  if (attachments.length >= LIMITS.partsPerMessage)
    throw invalid(`a message has at most ${LIMITS.partsPerMessage} parts`);
  const parts: Part[] = input.text === undefined ? [] : [await toTextPart(input.text, store)];
  for (const attachment of attachments) parts.push(await toBinaryPart(attachment, store));
  if (parts.length === 0) throw invalid('the message is empty; give it text or an attachment');
  return {
    id,
    parts,
    ...(input.mode === undefined ? {} : { mode: input.mode }),
    ...(input.silent === undefined ? {} : { silent: input.silent }),
    ...(input.channel === undefined ? {} : { channel: input.channel }),
  };
}

/**
 * What a wake or a reminder tells the model, stored first when it is longer than `inlineBytes`.
 * @throws SessionError `invalid_input`
 */
export async function toPrompt(
  prompt: WakePrompt,
  inlineBytes: number,
  store: Pick<SessionStore, 'putBlob'>,
): Promise<WakePrompt> {
  if (typeof prompt !== 'string') return prompt;
  const part = await toTextPart(prompt, store, inlineBytes);
  return 'ref' in part ? { ref: part.ref } : part.text;
}

async function toTextPart(
  text: string,
  store: Pick<SessionStore, 'putBlob'>,
  inlineBytes: number = LIMITS.inlineTextBytes,
): Promise<TextPart | StoredTextPart> {
  if (text.trim() === '') throw invalid('the text is empty');
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > LIMITS.messageTextBytes) {
    throw invalid(
      `the text has ${bytes.length} bytes; at most ${LIMITS.messageTextBytes} are allowed: attach it as a file`,
    );
  }
  if (bytes.length <= inlineBytes) return { kind: 'text', text };
  return { kind: 'text', ref: await store.putBlob({ bytes, mediaType: 'text/plain' }) };
}

async function toBinaryPart(attachment: Attachment, store: Pick<SessionStore, 'putBlob'>): Promise<Part> {
  const { kind, mediaType, name } = attachment;
  const ref = 'url' in attachment ? attachment.url : await storeBytes(attachment.bytes, mediaType, store);
  if (ref.length > LIMITS.referenceChars) throw invalid(`an address has at most ${LIMITS.referenceChars} characters`);
  if (kind === 'image') return { kind, ref, mediaType };
  return { kind, ref, mediaType, ...(name === undefined ? {} : { name }) };
}

async function storeBytes(bytes: Uint8Array, mediaType: string, store: Pick<SessionStore, 'putBlob'>): Promise<string> {
  if (bytes.length > LIMITS.blobBytes) throw invalid(`an attachment has at most ${LIMITS.blobBytes} bytes`);
  return store.putBlob({ bytes, mediaType });
}

const MEDIA_TYPES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  json: 'application/json',
  csv: 'text/csv',
};

/** An attachment read from a file; its kind and media type follow the file's ending. */
export async function attachmentFromFile(path: string): Promise<Attachment> {
  const size = await stat(path).then(
    (found) => {
      if (!found.isFile()) throw invalid(`${path} is not a file`);
      return found.size;
    },
    () => {
      throw invalid(`the file ${path} cannot be read`);
    },
  );
  if (size > LIMITS.blobBytes)
    throw invalid(`${path} has ${size} bytes; an attachment has at most ${LIMITS.blobBytes}`);
  const mediaType = MEDIA_TYPES[path.split('.').at(-1)?.toLowerCase() ?? ''] ?? 'application/octet-stream';
  const kind = mediaType.startsWith('image/') ? 'image' : 'file';
  return { kind, mediaType, name: basename(path), bytes: await readFile(path) };
}

function invalid(message: string): SessionError {
  return new SessionError('invalid_input', message);
}
