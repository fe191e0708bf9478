import { configFileSchema, type JsonSchema, knobsOf } from './config-schema.js';
import { VARIABLES } from './environment.js';

/** The published JSON schema, as a file. */
export function schemaText(): string {
  return `${JSON.stringify(configFileSchema(), null, 2)}\n`;
}

/** A row for each setting. What agents and models may say of themselves is the same as the defaults, and left out. */
export function settingsTable(): string {
  const knobs = knobsOf(configFileSchema()).filter(
    ({ path }) => (!path.includes('*') || path[0] === 'channels') && !path.includes('$schema'),
  );
  const rows = knobs.map(({ path, schema }) => [
    `\`${path.join('.')}\``,
    schema.default === undefined ? '' : `\`${JSON.stringify(schema.default)}\``,
    allowed(schema),
    variableOf(path),
    schema.description ?? '',
  ]);
  const table = [['setting', 'default', 'allowed', 'variable', 'meaning'], Array<string>(5).fill('---'), ...rows];
  return table.map((row) => `| ${row.join(' | ')} |`).join('\n');
}

function allowed({ type, minimum, maximum, enum: values, const: only }: JsonSchema): string {
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(', ');
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  return { string: 'text', array: 'list of texts', boolean: '`true`, `false`' }[type ?? ''] ?? '';
}

function variableOf(path: readonly string[]): string {
  const found = Object.entries(VARIABLES).find(([, { path: of }]) => of.join('.') === path.join('.'));
  return found === undefined ? '' : `\`${found[0]}\``;
}
