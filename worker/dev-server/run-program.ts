import { execFile } from 'node:child_process';

export interface ProgramRun {
  readonly limitMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Runs a program to its end and answers with its output; throws with the last line it printed as the reason. */
export function runProgram(program: string, args: readonly string[], run: ProgramRun): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { timeout: run.limitMs, killSignal: 'SIGKILL', ...(run.signal && { signal: run.signal }) } as const;
    execFile(program, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(reasonOf(program, error, stderr, run.limitMs), { cause: error }));
    });
  });
}

function reasonOf(
  program: string,
  error: Error & { code?: unknown; killed?: boolean },
  stderr: string,
  limitMs: number,
): string {
  if (error.code === 'ENOENT') return `${program} was not found`;
  if (error.code === 'EACCES') return `${program} is not executable`;
  if (error.killed === true) return `${program} did not end within ${limitMs / 1_000} s`;
  return lastLine(stderr) ?? error.message;
}

function lastLine(text: string): string | undefined {
  return text.trim().split('\n').at(-1)?.trim() || undefined;
}
