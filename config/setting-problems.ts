import type { z } from 'zod';
import { configFileSchema, type JsonSchema, knobsOf } from './config-schema.js';

/** Says where a value stands, as its author wrote it: a variable, a flag, a path in a file. */
export type Label = (path: readonly string[]) => string;

const SECRET = /key|token|secret|password|credential/i;
/** Letters that may be wrong in a name that is still taken for another. */
const TYPOS = 3;

/** What is wrong, one sentence a problem. Values are repeated only where numbers belong: others may hold what must not be shown. */
export function problemsOf(error: z.ZodError, label: Label): string[] {
  const problems = error.issues.flatMap((issue) => {
    const path = issue.path.map(String);
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey([...path, key], label));
    if (issue.code === 'invalid_key') return [`${label(path)} ${issue.issues[0]!.message}`];
    return [`${label(path)}${/^(is|must) /.test(issue.message) ? ' ' : ': '}${issue.message}`];
  });
  return [...new Set(problems)];
}

function unknownKey(path: readonly string[], label: Label): string {
  const key = path.at(-1)!;
  const known = keysAt(path.slice(0, -1));
  return `${label(path)} is no setting; ${adviceOn(key, known)}`;
}

function adviceOn(key: string, known: readonly string[]): string {
  const near = nearestOf(key, known);
  if (near !== null) return `did you mean "${near}"?`;
  const elsewhere = knobsOf(configFileSchema()).find(({ path }) => path.at(-1) === key);
  if (elsewhere !== undefined) return `it belongs to ${elsewhere.path.slice(0, -1).join('.')}`;
  if (SECRET.test(key)) {
    return 'keys and passwords belong in the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY, VIGIL_MODEL_API_KEY';
  }
  return `there are: ${known.join(', ')}`;
}

function keysAt(path: readonly string[]): string[] {
  const at = path.reduce(schemaIn, configFileSchema());
  return Object.keys(at.properties ?? {});
}

function schemaIn({ properties, additionalProperties }: JsonSchema, name: string): JsonSchema {
  return properties?.[name] ?? (typeof additionalProperties === 'object' ? additionalProperties : {});
}

/** The name that was probably meant, or `null`. */
export function nearestOf(name: string, known: readonly string[]): string | null {
  const ranked = known
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  return best !== undefined && best.distance <= Math.min(TYPOS, name.length / 2) ? best.candidate : null;
}

/** Letters to insert, delete or replace. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (let at = 0; at < to.length; at++) {
      next.push(Math.min(next[at]! + 1, row[at + 1]! + 1, row[at]! + (to[at] === letter ? 0 : 1)));
    }
    row = next;
  }
  return row[to.length]!;
}
