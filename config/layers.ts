import { dirname, resolve } from 'node:path';
import type { z } from 'zod';
import { ConfigError } from './config-error.js';
import { holdsPassword } from './channels-schema.js';
import { CONFIG_FILE, SETTINGS } from './config-schema.js';
import { documentOf, type Environment, variableAt } from './environment.js';
import type { Instance } from './instance.js';
import { type Label, problemsOf } from './setting-problems.js';
import { type Document, isSection, withoutGaps } from './settings-document.js';

/** What flags of the command line say, of whichever command. */
export interface SettingFlags {
  readonly address?: string | undefined;
  readonly namespace?: string | undefined;
  readonly taskQueue?: string | undefined;
  readonly store?: string | undefined;
  readonly agents?: readonly string[] | undefined;
  readonly model?: string | undefined;
}

/** The configuration file as it was read. */
export interface ConfigFile {
  /** Absolute. */
  readonly path: string;
  readonly content: unknown;
}

export type InstanceSettings = Pick<Instance, 'address' | 'namespace' | 'taskQueue' | 'storePath'>;

/** All that a configuration is made from, read beforehand. */
export interface ConfigSources {
  readonly flags?: SettingFlags;
  readonly environment: Environment;
  readonly file?: ConfigFile | null;
  /** The instance that runs in this folder. */
  readonly instance?: InstanceSettings | null;
  /** What relative paths of flags and variables start from; those of the file start from its folder. */
  readonly cwd: string;
}

/** The order in which settings count, as every command's help tells it. */
export const PRECEDENCE =
  'Settings: flags before the environment before the configuration file before the instance running in this folder before defaults.';

/** One place where settings are written. */
export interface Layer {
  /** Names what is written at a path. */
  readonly label: Label;
  readonly document: Document;
  readonly problems: readonly string[];
}

const FLAG_OF: Readonly<Record<string, string>> = {
  ...{ address: '--address', namespace: '--namespace', taskQueue: '--task-queue' },
  ...{ store: '--store', agents: '--agent', model: '--model' },
};

/**
 * All layers, the strongest first: the one place that says in which order settings count.
 * @throws ConfigError that lists every problem of every layer
 */
export function layersOf({ flags = {}, environment, file = null, instance = null }: ConfigSources): Layer[] {
  const layers = [
    layerOfFlags(flags),
    layerOfEnvironment(environment),
    ...(file === null ? [] : [layerOfFile(file)]),
    ...(instance === null ? [] : [layerOfInstance(instance)]),
  ];
  ConfigError.throwIfAny(layers.flatMap(({ problems }) => problems));
  return layers;
}

function layerOfFlags({ address, namespace, taskQueue, store, agents, model }: SettingFlags): Layer {
  const document = withoutGaps({ connection: { address, namespace, taskQueue }, store, agents, model });
  return checked(SETTINGS, document, (path) => path.flatMap((name) => FLAG_OF[name] ?? []).join(' '));
}

function layerOfEnvironment(environment: Environment): Layer {
  return checked(SETTINGS, documentOf(environment), (path) => {
    const { name, rest } = variableAt(path);
    return [name, ...(rest.length > 0 ? [rest.join('.')] : [])].join(': ');
  });
}

/** Relative paths start from the file's folder. */
function layerOfFile({ path: file, content }: ConfigFile): Layer {
  const label: Label = (path) => [file, ...(path.length > 0 ? [path.join('.')] : [])].join(': ');
  const layer = checked(CONFIG_FILE, content, label);
  if (layer.problems.length > 0) return layer;
  const { store, agents } = layer.document as z.input<typeof CONFIG_FILE>;
  const folder = dirname(file);
  const isSecret = store !== undefined && holdsPassword(store);
  return {
    label,
    document: withoutGaps({
      ...layer.document,
      ...{ $schema: undefined, version: undefined },
      store: store === undefined ? undefined : resolveStore(folder, store),
      agents: agents?.map((agent) => resolve(folder, agent)),
    }),
    problems: isSecret ? [`${label(['store'])} must hold no password; set VIGIL_STORE instead`] : [],
  };
}

function layerOfInstance({ address, namespace, taskQueue, storePath }: InstanceSettings): Layer {
  const document = { connection: { address, namespace, taskQueue }, store: storePath };
  return checked(SETTINGS, document, () => 'the instance running in this folder');
}

/** A path becomes absolute; the address of a database stays. */
export function resolveStore(folder: string, store: string): string {
  // A scheme of one letter is a drive of Windows.
  return /^[a-z][a-z0-9+.-]+:/i.test(store) ? store : resolve(folder, store);
}

function checked(schema: z.ZodType, document: unknown, label: Label): Layer {
  const { error } = schema.safeParse(document);
  return {
    label,
    document: isSection(document) ? document : {},
    problems: error === undefined ? [] : problemsOf(error, label),
  };
}
