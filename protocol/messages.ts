/** A piece of a message. Binaries, and texts over `LIMITS.inlineTextBytes`, travel by reference. */
export type Part = TextPart | StoredTextPart | ImagePart | FilePart;

export interface TextPart {
  kind: 'text';
  text: string;
}

export interface StoredTextPart {
  kind: 'text';
  ref: Reference;
}

export interface ImagePart {
  kind: 'image';
  ref: Reference;
  mediaType: string;
}

export interface FilePart {
  kind: 'file';
  ref: Reference;
  mediaType: string;
  name?: string;
}

/** `blob:<sha256>` in the session store, or an `http(s)://` address that the provider fetches. */
export type Reference = string;

/** How a message that meets a running turn is placed: into that turn, after it, or instead of it. */
export type MessageMode = 'steer' | 'queue';

/** Payload of the `message` signal as a client may write it; `text` is shorthand for one text part. */
export interface MessageSignal {
  id: string;
  text?: string;
  parts?: Part[];
  mode?: MessageMode;
  /** Recorded, but not shown to people: the turn's outcome is not announced. */
  silent?: boolean;
  /** A wake sends it, not a person: it never joins a turn, and its own is automation. A claim that can only lower what the turn may do. */
  isAutomated?: boolean;
  /** Where the outcome goes besides the journal; default: the session's channel. Such a message joins only a turn with the same one. */
  channel?: string;
}

/** A message as the session keeps it. */
export interface Message {
  kind: 'message';
  id: string;
  parts: Part[];
  mode: MessageMode;
  silent: boolean;
  isAutomated?: true;
  channel?: string;
}
