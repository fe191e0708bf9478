import stringWidth from 'string-width';

/** What the view needs of a terminal. */
export interface TerminalOut {
  write(text: string): unknown;
  columns?: number | undefined;
  rows?: number | undefined;
}

/**
 * Keeps a region at the end of a terminal equal to a text that changes: mostly it grows, sometimes a part of it is taken back.
 *
 * I1 What is on the screen after `show(text)` reads as `text`, whatever was shown before, as long as the change is still on the screen.
 * I2 What has scrolled away cannot be taken back: then a line says so and the text is written anew.
 */
export class TerminalView {
  private shown = '';

  constructor(private readonly out: TerminalOut) {}

  show(text: string): void {
    if (text.startsWith(this.shown)) {
      this.out.write(text.slice(this.shown.length));
    } else {
      // Erasing begins at a line's start, where the cursor's column is known.
      const common = commonPrefix(this.shown, text);
      const keep = common.slice(0, common.lastIndexOf('\n') + 1);
      const rowsUp = this.rowsOf(this.shown.slice(keep.length));
      const isGone = rowsUp >= (this.out.rows ?? 24);
      const erase = rowsUp > 0 ? `\x1b[${rowsUp}A` : '';
      if (isGone) this.out.write(`\n[the answer above was taken back; it reads:]\n${text}`);
      else this.out.write(`\r${erase}\x1b[J${text.slice(keep.length)}`);
    }
    this.shown = text;
  }

  /** What is shown stays for good; the next text begins below it. False when nothing was shown. */
  commit(): boolean {
    if (this.shown === '') return false;
    if (!this.shown.endsWith('\n')) this.out.write('\n');
    this.shown = '';
    return true;
  }

  /** Screen rows between the first line of a text and the cursor after its last character. */
  private rowsOf(text: string): number {
    const columns = this.out.columns ?? 80;
    const lines = text.split('\n');
    return lines.reduce((rows, line, index) => {
      const width = stringWidth(line);
      // A line that fills its row exactly leaves the cursor on that row until something follows.
      const wraps = Math.max(0, Math.ceil(width / columns) - 1);
      return rows + wraps + (index < lines.length - 1 ? 1 : 0);
    }, 0);
  }
}

function commonPrefix(a: string, b: string): string {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length++;
  return a.slice(0, length);
}
