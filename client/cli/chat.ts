import { text as readAll } from 'node:stream/consumers';
import { accumulate, EMPTY_TRANSCRIPT, type Transcript } from '../../protocol/accumulate.js';
import type { Disposition } from '../../protocol/fates.js';
import type { Output } from '../../protocol/outputs.js';
import type { StoredOutcome } from '../../store/session-store.js';
import { attachmentFromFile } from '../message-input.js';
import type { SentMessage } from '../sent-message.js';
import { SessionError } from '../session-error.js';
import type { SessionClient } from '../sessions.js';
import { agentOf, type ChatFlags } from './chat-flags.js';
import { withClient } from './connect.js';
import { exitCodeOfOutcome } from './exit-codes.js';
import { chatInteractively } from './interactive-chat.js';
import { renderTurn, renderUsage } from './render-turn.js';
import { TerminalView } from './terminal-view.js';

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

async function toInput({ message, id, file, mode, silent }: ChatFlags) {
  const text = message === '-' ? await readAll(process.stdin) : message;
  return {
    ...(text === undefined ? {} : { text }),
    ...(id === undefined ? {} : { id }),
    ...(file ? { attachments: await Promise.all(file.map(attachmentFromFile)) } : {}),
    ...(mode === undefined ? {} : { mode }),
    ...(silent === undefined ? {} : { silent }),
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

/** On a terminal, everything as it comes. Elsewhere standard output carries answer text only, whole calls at a time. */
function followOnScreen(client: SessionClient, session: string, sent: SentMessage) {
  const stop = new AbortController();
  const view = process.stdout.isTTY ? new TerminalView(process.stdout) : null;
  let transcript: Transcript = EMPTY_TRANSCRIPT;
  let segments = 0;
  const take = (outputs: Output[]) => {
    transcript = accumulate(transcript, outputs);
    if (view) return view.show(transcript.turns.map(renderTurn).join(''));
    for (const output of outputs) {
      if (output.kind !== 'TextOutput' || output.text === '') continue;
      process.stdout.write(`${segments++ > 0 ? '\n' : ''}${output.text}\n`);
    }
  };
  const done = (async () => {
    for await (const outputs of client.outputs(session, { afterSeq: sent.identity.fromSeq, signal: stop.signal }))
      take(outputs);
  })();
  return {
    stop: () => stop.abort(),
    /** The outcome may be known before its outputs are shown, or, for a repeat, from long ago. */
    async until(outcome: StoredOutcome): Promise<void> {
      const limitMs = Date.now() + 2_000;
      const isShown = () => transcript.turns.some((turn) => turn.turnId === outcome.turnId && turn.ended);
      while (!isShown() && Date.now() < limitMs) {
        const { kind } = await sent.placed();
        if (kind === 'duplicate') break;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      stop.abort();
      await done;
      if (!isShown()) process.stdout.write(`${outcome.text}\n`);
      view?.commit();
      if (!view) process.stderr.write(endLines(outcome));
    },
  };
}

function endLines(ended: StoredOutcome): string {
  const { outcome, reason, usage, partial } = ended;
  const unfinished = partial === null ? '' : `[stopped before it was complete: ${partial} …]\n`;
  const ending = outcome === 'completed' && !reason ? '' : `[turn ${outcome}${reason ? `: ${reason}` : ''}]\n`;
  const tokens = renderUsage(usage, ended);
  return `${unfinished}${ending}${tokens === '' ? '' : `${tokens}\n`}`;
}
