import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { accumulate, EMPTY_TRANSCRIPT, type Transcript } from '../../protocol/accumulate.js';
import type { Output } from '../../protocol/outputs.js';
import type { SessionClient } from '../sessions.js';
import { agentOf, type ChatFlags } from './chat-flags.js';
import { renderTurn } from './render-turn.js';
import { renderStop } from './stop.js';
import { TerminalView } from './terminal-view.js';

/** Between two attempts to read a store that does not answer. */
const RETRY_MS = 2_000;

const HELP = `A line you type is a message; while an answer is coming it joins the running turn.
/stop  end the running turn    /state  what the session is doing    /quit or Ctrl-D  leave (the session lives on)    /help  this text
`;

/** A conversation in the terminal, until the person leaves. */
export async function chatInteractively(client: SessionClient, session: string, flags: ChatFlags): Promise<number> {
  const conversation = new Conversation(client, session, flags);
  return conversation.run();
}

/**
 * I1 Either the prompt is shown or a turn is; while a turn is shown, what is typed is not echoed, so the view knows what is on the screen.
 * I2 A line is sent once; a line that could not be sent is shown again with the reason, so nothing typed is lost.
 */
class Conversation {
  private transcript: Transcript = EMPTY_TRANSCRIPT;
  private readonly view = new TerminalView(process.stdout);
  private readonly stop = new AbortController();
  private readonly screen = new MutableScreen();
  private readonly lines: Interface;
  /** Lines sent whose turn has not been seen yet. */
  private unanswered = 0;

  constructor(
    private readonly client: SessionClient,
    private readonly session: string,
    private readonly flags: ChatFlags,
  ) {
    this.lines = createInterface({
      input: process.stdin,
      output: this.screen,
      prompt: 'you> ',
      terminal: process.stdout.isTTY,
    });
  }

  async run(): Promise<number> {
    const afterSeq = await this.client.lastSeq(this.session);
    process.stdout.write(`Session ${this.session}. Type a message; /help for more, Ctrl-D to leave.\n`);
    const following = this.follow(afterSeq);
    const left = new Promise<void>((resolve) => {
      this.lines.on('SIGINT', () => this.lines.close());
      this.lines.on('close', resolve);
    });
    this.lines.on('line', (line) => void this.take(line));
    this.lines.prompt();
    await left;
    this.stop.abort();
    await following;
    process.stdout.write('\n');
    return 0;
  }

  private async take(line: string): Promise<void> {
    const text = line.trim();
    if (text === '') return this.prompt();
    if (text === '/quit') return this.lines.close();
    if (text === '/help') {
      process.stdout.write(HELP);
      return this.prompt();
    }
    if (text === '/state') return this.tellState();
    if (text === '/stop') return this.stopTurn();
    await this.send(text);
  }

  private async send(text: string): Promise<void> {
    this.unanswered++;
    this.screen.isMuted = true;
    try {
      await this.client.send(this.session, { text }, agentOf(this.flags));
    } catch (error) {
      this.unanswered--;
      this.tellError(error, `not sent: ${text}`);
    }
  }

  private async tellState(): Promise<void> {
    try {
      const { status, turn, queue, turns } = await this.client.state(this.session);
      process.stdout.write(`${status}, ${turns} turns, ${queue.length} waiting${turn ? `; ${turn.step}` : ''}\n`);
    } catch (error) {
      this.tellError(error, 'no state');
    }
    this.prompt();
  }

  /** A turn that was stopped shows its end itself. */
  private async stopTurn(): Promise<void> {
    try {
      const answer = await this.client.stop(this.session);
      if (answer.kind === 'nothing_running') this.tell(renderStop(answer));
    } catch (error) {
      this.tellError(error, 'not stopped');
    }
  }

  private tellError(error: unknown, what: string): void {
    process.stdout.write(`[${what}: ${error instanceof Error ? error.message : String(error)}]\n`);
    this.prompt();
  }

  private async follow(afterSeq: number): Promise<void> {
    const { signal } = this.stop;
    let seen = afterSeq;
    while (!signal.aborted) {
      try {
        for await (const outputs of this.client.outputs(this.session, { afterSeq: seen, signal })) {
          seen = outputs.at(-1)?.seq ?? seen;
          this.show(outputs);
        }
      } catch (error) {
        this.tellError(error, 'answers cannot be read, trying again');
        await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  private show(outputs: Output[]): void {
    this.transcript = accumulate(this.transcript, outputs);
    const open = this.transcript.turns.filter((turn) => !turn.isSilent);
    if (open.length === 0) return this.tellPlaced(outputs);
    this.screen.isMuted = true;
    this.view.show(open.map(renderTurn).join(''));
    this.tellPlaced(outputs);
    if (!this.transcript.turns.every((turn) => turn.ended)) return;
    this.view.commit();
    this.transcript = { ...this.transcript, turns: [] };
    this.unanswered = 0;
    this.prompt();
  }

  /** Notices without a turn, and messages that did not simply start one. */
  private tellPlaced(outputs: Output[]): void {
    for (const output of outputs) {
      if (output.kind === 'Notice' && output.turnId === undefined) this.tell(output.message);
      if (output.kind !== 'MessageReceived') continue;
      const { disposition } = output;
      if (disposition.kind === 'refused') this.tell(`refused: ${disposition.message}`);
      if (disposition.kind === 'queued') this.tell(`queued, number ${disposition.position}`);
    }
  }

  private tell(text: string): void {
    this.view.commit();
    process.stdout.write(`[${text}]\n`);
    if (this.transcript.turns.every((turn) => turn.ended)) this.prompt();
  }

  private prompt(): void {
    this.screen.isMuted = false;
    this.lines.prompt(true);
  }
}

/** Standard output that readline writes to, silent while something else owns the screen. */
class MutableScreen extends Writable {
  isMuted = false;

  get columns(): number {
    return process.stdout.columns;
  }

  get rows(): number {
    return process.stdout.rows;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (!this.isMuted) process.stdout.write(chunk);
    done();
  }
}
