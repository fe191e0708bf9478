import { existsSync, readFileSync } from 'node:fs';

/** What a turn of the crash agent says, whatever happens to its workers. */
export const CRASH_TEXT =
  'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen\n\n' +
  'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron';

export interface Traced {
  what: 'call' | 'effect';
  /** Which call of a turn, or the id of the tool call. */
  id: string;
  pid: number;
  atMs: number;
}

export function readTrace(path: string): Traced[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').trim().split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line) as Traced);
}
