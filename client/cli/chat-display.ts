import { accumulate, EMPTY_TRANSCRIPT, type Transcript, type TurnTranscript } from '../../protocol/accumulate.js';
import type { Output } from '../../protocol/outputs.js';
import { renderAside, renderEnd, renderItem, renderSkipped, renderTurn } from './render-turn.js';
import { TerminalView } from './terminal-view.js';

/** Where a chat shows what it reads of its session. */
export interface ChatDisplay {
  /** Shows what the outputs change. Those of turns that are not to be shown change nothing. */
  take(outputs: readonly Output[]): void;
  /** Shows a line that is no output of the session. */
  note(line: string): void;
  /** Whether a turn is shown that has not ended. */
  readonly isOpen: boolean;
  hasEnded(turnId: string): boolean;
  /** What is shown stays for good, and what has ended is forgotten. False when there was neither. */
  commit(): boolean;
}

export interface DisplayOptions {
  isShown: (turn: TurnTranscript) => boolean;
  /** Called before anything is written. */
  onWrite?: () => void;
}

export function createDisplay(options: DisplayOptions): ChatDisplay {
  return process.stdout.isTTY ? new TerminalDisplay(options) : new PlainDisplay(options);
}

/** Where everything goes that is no answer text. */
export function asideStream(): NodeJS.WriteStream {
  return process.stdout.isTTY ? process.stdout : process.stderr;
}

abstract class ReadingDisplay {
  protected transcript: Transcript = EMPTY_TRANSCRIPT;

  constructor(protected readonly options: DisplayOptions) {}

  get isOpen(): boolean {
    return this.shownTurns().some((turn) => !turn.ended);
  }

  hasEnded(turnId: string): boolean {
    return this.transcript.turns.some((turn) => turn.turnId === turnId && turn.ended);
  }

  protected shownTurns(): TurnTranscript[] {
    return this.transcript.turns.filter((turn) => this.options.isShown(turn));
  }

  /** False when no turn that was to be shown has ended. */
  protected forgetEnded(): boolean {
    const hadEnded = this.shownTurns().some((turn) => turn.ended);
    const turns = this.transcript.turns.filter((turn) => !turn.ended);
    this.transcript = { ...this.transcript, turns, unknownKinds: {} };
    return hadEnded;
  }
}

/** Everything as it comes: turns, and below them what the session says besides. Nothing is written for good before `commit`. */
class TerminalDisplay extends ReadingDisplay implements ChatDisplay {
  private readonly view = new TerminalView(process.stdout);
  private asides: string[] = [];

  take(outputs: readonly Output[]): void {
    this.transcript = accumulate(this.transcript, outputs);
    this.asides.push(...outputs.flatMap(renderAside));
    this.show();
  }

  note(line: string): void {
    this.asides.push(line);
    this.show();
  }

  commit(): boolean {
    const hadEnded = this.forgetEnded();
    this.asides = [];
    const hadShown = this.view.commit();
    return hadEnded || hadShown;
  }

  private show(): void {
    const turns = this.shownTurns().map(renderTurn).join('');
    const below = [...this.asides, ...renderSkipped(this.transcript)].map((line) => `${line}\n`).join('');
    const between = turns === '' || turns.endsWith('\n') || below === '' ? '' : '\n';
    const text = `${turns}${between}${below}`;
    if (text !== '') this.options.onWrite?.();
    this.view.show(text);
  }
}

/** Standard output carries answer text only, whole calls at a time; everything else goes to standard error, a line each. */
class PlainDisplay extends ReadingDisplay implements ChatDisplay {
  private readonly answered = new Set<string>();
  private readonly skipped = new Set<string>();
  private hasWritten = false;

  take(outputs: readonly Output[]): void {
    for (const output of outputs) {
      this.transcript = accumulate(this.transcript, [output]);
      renderAside(output).forEach((line) => this.note(line));
      this.tellSkipped();
      const turn = this.shownTurns().find((shown) => 'turnId' in output && shown.turnId === output.turnId);
      if (turn) this.write(turn, output);
    }
  }

  note(line: string): void {
    if (line === '') return;
    process.stderr.write(`${line}\n`);
    this.hasWritten = true;
  }

  commit(): boolean {
    const hadEnded = this.forgetEnded();
    const { hasWritten } = this;
    this.hasWritten = false;
    return hadEnded || hasWritten;
  }

  private write(turn: TurnTranscript, output: Output): void {
    if (output.kind === 'TextOutput') this.answer(turn, output.text);
    if (output.kind === 'TurnEnded') this.end(turn, output.text);
    if (output.kind === 'Notice') this.note(`[${output.message}]`);
    if (output.kind !== 'ToolFinished') return;
    const tool = turn.items.find((item) => item.kind === 'tool' && item.toolCallId === output.toolCallId);
    if (tool) this.note(renderItem(tool));
  }

  private answer({ turnId }: TurnTranscript, text: string): void {
    if (text === '') return;
    process.stdout.write(`${this.answered.has(turnId) ? '\n' : ''}${text}\n`);
    this.answered.add(turnId);
    this.hasWritten = true;
  }

  private end(turn: TurnTranscript, text: string): void {
    if (!this.answered.has(turn.turnId)) this.answer(turn, text);
    if (!turn.ended) return;
    const { partial } = turn.ended;
    if (partial !== null) this.note(`[stopped before it was complete: ${partial} …]`);
    this.note(renderEnd(turn.ended));
  }

  private tellSkipped(): void {
    const lines = renderSkipped(this.transcript).filter((line) => !this.skipped.has(line));
    lines.forEach((line) => this.note(line));
    lines.forEach((line) => this.skipped.add(line));
  }
}
