import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { Output } from '../../protocol/outputs.js';
import type { SessionClient } from '../sessions.js';
import { asideStream, createDisplay } from './chat-display.js';
import { agentOf, type ChatFlags } from './chat-flags.js';
import { renderStop } from './stop.js';

/** Between two attempts to read a store that does not answer. */
const RETRY_MS = 2_000;

const HELP = `A line you type is a message; while an answer is coming it joins the running turn.
/stop  end the running turn    /state  what the session is doing    /quit or Ctrl-D  leave (the session lives on)    /help  this text`;

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
  private readonly display = createDisplay({
    isShown: (turn) => !turn.isSilent,
    onWrite: () => this.hidePrompt(),
  });
  private readonly stop = new AbortController();
  private readonly out = asideStream();
  private readonly screen = new MutableScreen(this.out);
  private readonly lines: Interface;

  constructor(
    private readonly client: SessionClient,
    private readonly session: string,
    private readonly flags: ChatFlags,
  ) {
    this.lines = createInterface({
      input: process.stdin,
      output: this.screen,
      prompt: process.stdout.isTTY ? 'you> ' : '',
      terminal: process.stdout.isTTY,
    });
  }

  async run(): Promise<number> {
    const afterSeq = await this.client.lastSeq(this.session);
    this.out.write(`Session ${this.session}. Type a message; /help for more, Ctrl-D to leave.\n`);
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
    if (!this.display.commit() && process.stdout.isTTY) this.out.write('\n');
    return 0;
  }

  private async take(line: string): Promise<void> {
    const text = line.trim();
    if (text === '') return this.promptAtRest();
    if (text === '/quit') return this.lines.close();
    if (text === '/help') return this.tell(HELP);
    if (text === '/state') return this.tellState();
    if (text === '/stop') return this.stopTurn();
    await this.send(text);
  }

  private async send(text: string): Promise<void> {
    this.screen.isMuted = true;
    try {
      await this.client.send(this.session, { text }, agentOf(this.flags));
    } catch (error) {
      this.tellError(error, `not sent: ${text}`);
    }
  }

  private async tellState(): Promise<void> {
    try {
      const { status, turn, queue, turns } = await this.client.state(this.session);
      this.tell(`${status}, ${turns} turns, ${queue.length} waiting${turn ? `; ${turn.step}` : ''}`);
    } catch (error) {
      this.tellError(error, 'no state');
    }
  }

  /** A turn that was stopped shows its end itself. */
  private async stopTurn(): Promise<void> {
    try {
      const answer = await this.client.stop(this.session);
      if (answer.kind === 'nothing_running') this.tell(`[${renderStop(answer)}]`);
    } catch (error) {
      this.tellError(error, 'not stopped');
    }
  }

  private tellError(error: unknown, what: string): void {
    this.tell(`[${what}: ${error instanceof Error ? error.message : String(error)}]`);
  }

  private tell(text: string): void {
    this.display.note(text);
    this.settleScreen();
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
    this.display.take(outputs);
    this.settleScreen();
  }

  private settleScreen(): void {
    if (!this.display.isOpen && this.display.commit()) this.prompt();
  }

  private promptAtRest(): void {
    if (!this.display.isOpen) this.prompt();
  }

  /** Takes the prompt and what is typed so far off the screen; `prompt` brings both back. */
  private hidePrompt(): void {
    if (this.screen.isMuted) return;
    this.screen.isMuted = true;
    if (!process.stdout.isTTY) return;
    const { rows } = this.lines.getCursorPos();
    this.out.write(`${rows > 0 ? `\x1b[${rows}A` : ''}\r\x1b[J`);
  }

  private prompt(): void {
    if (this.screen.isMuted) this.makeRoom();
    this.screen.isMuted = false;
    this.lines.prompt(true);
  }

  /** Readline writes its line over the rows that it last took. Told to while muted it counts them anew, and they can be laid out. */
  private makeRoom(): void {
    this.lines.prompt(true);
    if (process.stdout.isTTY) this.out.write('\n'.repeat(this.lines.getCursorPos().rows));
  }
}

/** The stream that readline writes to, silent while something else owns the screen. */
class MutableScreen extends Writable {
  isMuted = false;

  constructor(private readonly out: NodeJS.WriteStream) {
    super();
  }

  get columns(): number {
    return this.out.columns;
  }

  get rows(): number {
    return this.out.rows;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (!this.isMuted) this.out.write(chunk);
    done();
  }
}
