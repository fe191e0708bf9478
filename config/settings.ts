import { ConfigError } from './config-error.js';
import { type Settings, SETTINGS } from './config-schema.js';
import type { Layer } from './layers.js';
import { budgetsBelowGap } from './liveness-schema.js';
import { type Document, merged, valueAt } from './settings-document.js';

/**
 * What the layers come to, setting by setting, with defaults where none says anything.
 * @throws ConfigError when together they cannot hold
 */
export function settingsOf(layers: readonly Layer[]): Settings {
  const together = layers.reduceRight<Document>((weaker, { document }) => merged(weaker, document), {});
  const settings = SETTINGS.parse(together);
  const problems = budgetsBelowGap(settings.liveness);
  ConfigError.throwIfAny(problems.map(({ path, problem }) => `${sourceOf(layers, path)} ${problem}`));
  return settings;
}

/** Where the value that counts at a path is written; `default` when it is nowhere. */
export function sourceOf(layers: readonly Layer[], path: readonly string[]): string {
  return layers.find(({ document }) => valueAt(document, path) !== undefined)?.label(path) ?? 'default';
}
