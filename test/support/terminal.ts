import { spawn, type ChildProcess } from 'node:child_process';
import xterm from '@xterm/headless';
import { until } from './until.js';

const COLUMNS = 80;
const ROWS = 40;

/** Runs a command in a pseudo-terminal: bytes in on standard input, bytes out on standard output. */
const PTY = `
import os, pty, sys, fcntl, termios, struct, threading
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", ${ROWS}, ${COLUMNS}, 0, 0))
def feed():
    while True:
        data = os.read(0, 4096)
        if not data: return
        os.write(fd, data)
threading.Thread(target=feed, daemon=True).start()
try:
    while True:
        data = os.read(fd, 4096)
        if not data: break
        os.write(1, data)
except OSError:
    pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
`;

/** A program in a real pseudo-terminal, with what a person sees on the screen. */
export class Terminal {
  end: number | undefined;
  private readonly screen = new xterm.Terminal({
    cols: COLUMNS,
    rows: ROWS,
    scrollback: 1_000,
    allowProposedApi: true,
  });
  private readonly process: ChildProcess;

  constructor(command: string[], env: NodeJS.ProcessEnv) {
    this.process = spawn('python3', ['-c', PTY, ...command], {
      env: { ...process.env, TERM: 'xterm', NO_COLOR: '1', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.process.stdout?.on('data', (bytes: Buffer) => this.screen.write(bytes));
    this.process.once('close', (code) => (this.end = code ?? 1));
  }

  type(text: string): void {
    this.process.stdin?.write(text);
  }

  /** Every line from the first to the cursor, without trailing spaces. */
  get text(): string {
    const { active } = this.screen.buffer;
    const lines = Array.from({ length: active.length }, (_, row) => active.getLine(row)?.translateToString(true) ?? '');
    return lines.join('\n').trimEnd();
  }

  async shows(text: string | RegExp, limitMs = 30_000): Promise<void> {
    const holds = () => (typeof text === 'string' ? this.text.includes(text) : text.test(this.text));
    await until(`the screen to show ${String(text)}; it shows:\n${this.text}`, holds, limitMs);
  }

  async hasEnded(): Promise<number> {
    await until('the program in the terminal to end', () => this.end !== undefined, 30_000);
    return this.end!;
  }

  kill(): void {
    this.process.kill('SIGKILL');
  }
}
