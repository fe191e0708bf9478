import { text as readAll } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { Disposition } from '../../protocol/fates.js';
import type { Output } from '../../protocol/outputs.js';
import type { StoredOutcome } from '../../store/session-store.js';
import { attachmentFromFile } from '../message-input.js';
import type { SentMessage } from '../sent-message.js';
import { SessionError } from '../session-error.js';
import type { SessionClient } from '../sessions.js';
import { createDisplay } from './chat-display.js';
import { agentOf, type ChatFlags } from './chat-flags.js';
import { withClient } from './connect.js';
import { exitCodeOfOutcome } from './exit-codes.js';
import { chatInteractively } from './interactive-chat.js';

/** Milliseconds that the outputs of an outcome may take to be read after it. */
const SHOWN_LIMIT_MS = 2_000;

export async function chat(session: string, flags: ChatFlags): Promise<number> {
  return withClient(flags, (client) => {
    if (flags.message === undefined && !flags.file) return chatInteractively(client, session, flags);
    return chatOnce(client, session, flags);
  });
}

/** Sends one message, shows the answer as it comes, and ends with the outcome's exit code. */
async function chatOnce(client: SessionClient, session: string, flags: ChatFlags): Promise<number> {
  const sent = await client.send(session, await toInput(flags), agentOf(flags));
  const limit = flags.timeout === undefined ? {} : { signal: AbortSignal.timeout(flags.timeout * 1_000) };
  const show = flags.json ? null : followOnScreen(client, session, sent);
  try {
    const [placed, outcome] = await Promise.all([requirePlaced(sent, limit), sent.outcome(limit)]);
    await show?.until(outcome);
    if (flags.json) process.stdout.write(`${JSON.stringify(toJson(sent, placed, outcome))}\n`);
    return exitCodeOfOutcome(outcome.outcome);
  } finally {
    show?.stop();
  }
}

async function toInput({ message, id, file, mode, silent, channel }: ChatFlags) {
  const text = message === '-' ? await readAll(process.stdin) : message;
  return {
    ...(text === undefined ? {} : { text }),
    ...(id === undefined ? {} : { id }),
    ...(file ? { attachments: await Promise.all(file.map(attachmentFromFile)) } : {}),
    ...(mode === undefined ? {} : { mode }),
    ...(silent === undefined ? {} : { silent }),
    ...(channel === undefined ? {} : { channel }),
  };
}

async function requirePlaced(sent: SentMessage, limit: { signal?: AbortSignal }): Promise<Disposition> {
  const placed = await sent.placed(limit);
  if (placed.kind === 'duplicate' && placed.contentDiffers) {
    throw new SessionError(
      'id_reused',
      `message id "${sent.messageId}" was used before with other content, which stands; send this one under a new id`,
    );
  }
  return placed;
}

function toJson({ identity }: SentMessage, placed: Disposition, outcome: StoredOutcome) {
  return { ...outcome, sessionId: identity.sessionId, messageId: identity.messageId, placed };
}

/** On a terminal, everything that the session does meanwhile; elsewhere the turn that answers the message. */
function followOnScreen(client: SessionClient, session: string, sent: SentMessage) {
  const stop = new AbortController();
  const own = new OwnTurns(sent.messageId);
  const display = createDisplay({ isShown: ({ turnId }) => process.stdout.isTTY || own.has(turnId) });
  const done = (async () => {
    for await (const outputs of client.outputs(session, { afterSeq: sent.identity.fromSeq, signal: stop.signal })) {
      outputs.forEach((output) => own.take(output));
      display.take(outputs);
    }
  })();
  return {
    stop: () => stop.abort(),
    /** The outcome may be known before its outputs are shown, or, for a repeat, from long ago. */
    async until(outcome: StoredOutcome): Promise<void> {
      const { kind } = await sent.placed();
      const deadlineMs = Date.now() + (kind === 'duplicate' ? 0 : SHOWN_LIMIT_MS);
      while (!display.hasEnded(outcome.turnId) && Date.now() < deadlineMs) await delay(20);
      stop.abort();
      await done;
      own.add(outcome.turnId);
      if (!display.hasEnded(outcome.turnId)) display.take([toEnd(outcome)]);
      display.commit();
    },
  };
}

/** An outcome whose outputs were not read says of its turn what their last one would. */
function toEnd(outcome: StoredOutcome): Output {
  return { ...outcome, kind: 'TurnEnded', seq: Number.MAX_SAFE_INTEGER, atMs: outcome.endedAtMs };
}

/** The turns that took a message in, as far as the outputs tell. */
class OwnTurns {
  private readonly turnIds = new Set<string>();

  constructor(private readonly messageId: string) {}

  take(output: Output): void {
    if (output.kind !== 'MessageReceived' || output.messageId !== this.messageId) return;
    const { disposition } = output;
    if ('turnId' in disposition && disposition.turnId !== null) this.add(disposition.turnId);
  }

  add(turnId: string): void {
    this.turnIds.add(turnId);
  }

  has(turnId: string): boolean {
    return this.turnIds.has(turnId);
  }
}
