import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigError } from './config-error.js';
import { type Environment, FILE_VARIABLE, NO_FILE, variable } from './environment.js';
import { findDataDir, readInstance } from './instance.js';
import type { ConfigFile, ConfigSources, SettingFlags } from './layers.js';

const DEFAULT_FILE = 'vigil.json';

/** What a command was given. */
export interface Invocation {
  readonly flags: SettingFlags & { readonly config?: string | undefined };
  readonly environment: Environment;
  readonly cwd: string;
}

/**
 * Reads what a configuration is made from: the file, and the record of the instance that runs in this folder.
 * @throws ConfigError when the file cannot be read
 */
export function readSources({ flags: { config, ...flags }, environment, cwd }: Invocation): ConfigSources {
  const file = readConfigFile(config, environment, cwd);
  return { flags, environment, cwd, file, instance: readInstance(findDataDir(cwd)) };
}

/** The file that `--config` or `VIGIL_CONFIG` names, else `vigil.json` in this folder if there is one. */
function readConfigFile(flag: string | undefined, environment: Environment, cwd: string): ConfigFile | null {
  const named = flag ?? variable(environment, FILE_VARIABLE);
  if (named === NO_FILE) return null;
  const path = resolve(cwd, named ?? DEFAULT_FILE);
  const text = readText(path, named === undefined);
  if (text === null) return null;
  try {
    return { path, content: JSON.parse(text) };
  } catch (error) {
    throw new ConfigError(`the configuration file ${path} is no JSON: ${(error as Error).message}`);
  }
}

function readText(path: string, mayBeAbsent: boolean): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw new ConfigError(`the configuration file ${path} cannot be read: ${message}`);
    if (mayBeAbsent) return null;
    throw new ConfigError(`the configuration file ${path} does not exist; check --config or ${FILE_VARIABLE}`);
  }
}
