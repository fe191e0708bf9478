import { configFileSchema, knobsOf } from './config-schema.js';
import { type ConfigSources, layersOf } from './layers.js';
import { settingsOf, sourceOf } from './settings.js';
import { pathsOf, valueAt } from './settings-document.js';

export interface ExplainedSetting {
  /** As in the configuration file, joined by dots. */
  readonly path: string;
  /** `null`: not set, and without a default. */
  readonly value: unknown;
  /** The flag, the variable, the place in the file, the instance, or `default`. */
  readonly source: string;
}

/**
 * Every setting with its value and where that was said.
 * @throws ConfigError that lists every problem.
 */
export function explainConfig(sources: ConfigSources): ExplainedSetting[] {
  const layers = layersOf(sources);
  const settings = settingsOf(layers);
  const known = knobsOf(configFileSchema()).filter(({ path }) => path.length > 1 || path[0]! in settings);
  const always = known.filter(({ path }) => !path.includes('*'));
  const named = pathsOf(settings.liveness, ['liveness']).filter(([, section]) => /^(agents|models)$/.test(section!));
  const declared = pathsOf(settings.channels, ['channels']);
  const explain = (path: readonly string[], byDefault: unknown): ExplainedSetting => ({
    path: path.join('.'),
    value: withoutPassword(valueAt(settings, path) ?? byDefault ?? null),
    source: sourceOf(layers, path),
  });
  return [
    ...always.map(({ path, schema }) => explain(path, schema.default)),
    ...[...declared, ...named].map((path) => explain(path, null)),
  ];
}

function withoutPassword(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/^([a-z][a-z0-9+.-]*:\/\/[^/@]*?):[^/@]*@/i, '$1:***@') : value;
}
