import { join } from 'node:path';
import { packageRoot } from '../../config/package-root.js';
import { Child, type ChildOptions } from './child.js';

/** The `vigil` command as a program with its first argument. */
export const vigilProgram = (): [program: string, script: string] => [
  process.execPath,
  join(packageRoot(), 'bin', 'vigil.mjs'),
];

/** A `vigil` command, running. */
export function vigilCommand(args: readonly string[], options: ChildOptions = {}): Child {
  const [program, script] = vigilProgram();
  return new Child(program, [script, ...args], options);
}
