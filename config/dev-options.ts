import { Command, CommanderError, InvalidArgumentError } from 'commander';
import { resolve } from 'node:path';
import { findDataDir } from './instance.js';
import { PRECEDENCE } from './layers.js';

/** What `vigil dev` was asked for; paths are absolute. */
export interface DevOptions {
  readonly headless: boolean;
  readonly session: string;
  readonly dataDir: string;
  /** `undefined`: the default port, or another when that is taken. 0: any free port. */
  readonly temporalPort: number | undefined;
  readonly uiPort: number | undefined;
  readonly ui: boolean;
  readonly agents: readonly string[];
  readonly model: string | undefined;
  /** As it was written; `undefined`: left to be found. */
  readonly config: string | undefined;
}

export type ParsedDevOptions =
  { readonly kind: 'options'; readonly options: DevOptions } | { readonly kind: 'exit'; readonly code: number };

/** Help and complaints are printed here, as commander words them; the caller only has to end with `code`. */
export function parseDevOptions(argv: readonly string[], cwd: string): ParsedDevOptions {
  const command = devCommand();
  try {
    command.parse(argv, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) return { kind: 'exit', code: error.exitCode };
    throw error;
  }
  const flags = command.opts<Flags>();
  return {
    kind: 'options',
    options: {
      headless: flags.headless === true,
      session: flags.session,
      dataDir: flags.dataDir === undefined ? findDataDir(cwd) : resolve(cwd, flags.dataDir),
      temporalPort: flags.temporalPort,
      uiPort: flags.uiPort,
      ui: flags.ui,
      agents: (flags.agent ?? []).map((file) => resolve(cwd, file)),
      model: flags.model,
      config: flags.config,
    },
  };
}

interface Flags {
  headless?: true;
  session: string;
  dataDir?: string;
  temporalPort?: number;
  uiPort?: number;
  ui: boolean;
  agent?: string[];
  model?: string;
  config?: string;
}

function devCommand(): Command {
  return new Command('vigil dev')
    .description('Starts a Temporal server, a worker and a chat in this folder, or joins the instance that runs here.')
    .option('--headless', 'without the chat; prints a line that begins "ready " once messages are accepted')
    .option('--session <name>', 'the session to chat with', 'demo')
    .option('--temporal-port <number>', "the Temporal server's port, 0 for any free one (default: 7233)", parsePort)
    .option('--ui-port <number>', "the Temporal web UI's port, 0 for any free one (default: 8233)", parsePort)
    .option('--no-ui', 'without the Temporal web UI')
    .option('--data-dir <folder>', 'where everything is kept (default: the nearest .vigil folder)')
    .option('--agent <file...>', 'agent files to load')
    .option('--model <spec>', 'the model to use')
    .option('--config <file>', 'the configuration file (VIGIL_CONFIG; default: vigil.json in this folder; off: none)')
    .addHelpText('after', `\n${PRECEDENCE}`)
    .allowExcessArguments(false)
    .exitOverride();
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('A port is a number from 0 to 65535.');
  return port;
}
