import { SECRET_VARIABLES, variable } from '../../config/environment.js';
import { explainConfig } from '../../config/explain-config.js';
import { type ConnectionFlags, sourcesOf } from './connect.js';

/** Prints every setting with its value and where that was said. Of keys it tells only whether they are set. */
export function config(flags: ConnectionFlags & { json?: boolean }): number {
  const sources = sourcesOf(flags);
  const settings = explainConfig(sources);
  const file = sources.file?.path ?? null;
  const keys = SECRET_VARIABLES.map((name) => ({ name, isSet: variable(sources.environment, name) !== undefined }));
  process.stdout.write(
    flags.json
      ? `${JSON.stringify({ file, settings, keys })}\n`
      : table([
          ['configuration file', file ?? 'none', ''],
          ...settings.map(({ path, value, source }) => [path, value === null ? '-' : shown(value), source]),
          ...keys.map(({ name, isSet }) => [name, isSet ? 'set' : '-', '']),
        ]),
  );
  return 0;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function table(rows: string[][]): string {
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '));
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}
