import { Command, CommanderError, InvalidArgumentError, Option } from 'commander';
import { PRECEDENCE } from '../../config/layers.js';
import { ConfigError } from '../../config/load-config.js';
import { StoreOpenError, StoreUnavailableError } from '../../store/session-store.js';
import { SessionError } from '../session-error.js';
import { chat } from './chat.js';
import type { ChatFlags } from './chat-flags.js';
import { config } from './config.js';
import { deliveries, dropDelivery, retryDelivery, showDelivery } from './deliveries.js';
import { drain, undrain } from './drain.js';
import { doctor } from './doctor.js';
import { EXIT_CODES_HELP, exitCodeOfError, USAGE_ERROR } from './exit-codes.js';
import { resume } from './resume.js';
import { sessions } from './sessions.js';
import { show } from './show.js';
import { stop } from './stop.js';
import { addWakeCommands, parseSeconds } from './wake-commands.js';

/** Runs a `vigil` command and answers its exit code. The only place that turns errors into messages. */
export async function main(argv: string[]): Promise<number> {
  endQuietlyWithoutReader();
  let exitCode = 0;
  const program = createProgram((code) => (exitCode = code));
  try {
    await program.parseAsync(argv, { from: 'user' });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR;
    process.stderr.write(`vigil: ${describe(error)}\n`);
    return error instanceof SessionError ? exitCodeOfError(error.code) : 1;
  }
}

/** A reader that has seen enough (`| head -1`) is no failure; a full disk is one, and says so. */
function endQuietlyWithoutReader(): void {
  process.stdout.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') process.stderr.write(`vigil: the output cannot be written: ${error.message}\n`);
    process.exit(error.code === 'EPIPE' ? 0 : 1);
  });
}

function describe(error: unknown): string {
  const expected = [SessionError, ConfigError, StoreOpenError, StoreUnavailableError];
  if (expected.some((type) => error instanceof type)) return (error as Error).message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function createProgram(exit: (code: number) => void): Command {
  const program = new Command('vigil')
    .description('Durable LLM agent sessions.')
    .exitOverride()
    // "wakes" takes options, and so do the commands below it: each reads what follows its own name.
    .enablePositionalOptions()
    .showHelpAfterError()
    .addHelpText('after', EXIT_CODES_HELP);
  const below = (parent: Command, usage: string, description: string) =>
    connected(parent.command(usage).description(description));
  const command = (usage: string, description: string) => below(program, usage, description);

  command('chat <session>', 'Talks to a session; without --message, in the terminal.')
    .option('--message <text>', 'send this, print the answer and exit; "-" reads standard input')
    .option('--id <id>', 'the message id; sending one twice is answered once')
    .option('--file <path...>', 'attach images or files')
    .option('--agent <name>', 'the agent, when this begins the session')
    .addOption(new Option('--mode <mode>', 'what to do while a turn runs').choices(['steer', 'queue']))
    .option('--silent', 'do not announce the outcome')
    .option('--channel <name>', 'a declared channel that the outcome goes to, too')
    .option('--json', 'print the outcome as one JSON object')
    .option('--timeout <seconds>', 'give up waiting after so long; the message stays accepted', parseSeconds)
    .addHelpText('after', EXIT_CODES_HELP)
    .action(async (session: string, flags: ChatFlags) => exit(await chat(session, flags)));
  command('show <session>', 'Shows what a session is doing.')
    .option('--json', 'as one JSON object')
    .action(async (session: string, flags: object) => exit(await show(session, flags)));
  command('sessions', 'Lists sessions, newest activity first.')
    .option('--json', 'one JSON object a line')
    .option('--tenant <name>', 'only this tenant')
    .option('--limit <count>', 'at most so many', parseCount, 100)
    .action(async (flags: { limit: number }) => exit(await sessions(flags)));
  command('resume <session>', 'Goes on with a suspended session.')
    .option('--from-store', "from the newest transcript that the store has, giving up the session's own")
    .action(async (session: string, flags: object) => exit(await resume(session, flags)));
  command('stop <session>', 'Ends the running turn at once; what waits runs next.')
    .option('--turn <id>', 'only if it is this turn that runs')
    .option('--json', 'the answer as one JSON object')
    .addHelpText('after', '\nExit code 0 also when nothing ran; "kind" in the answer tells.')
    .action(async (session: string, flags: object) => exit(await stop(session, flags)));
  command('drain [session]', 'Lets sessions come to rest: the running turn goes on, nothing new starts, messages wait.')
    .option('--all', 'every running session of the namespace')
    .option('--json', 'one JSON object a session')
    .action(async (session: string | undefined, flags: object) => exit(await drain(session, flags)));
  command('undrain [session]', 'Lets sessions take up work again.')
    .option('--all', 'every running session of the namespace')
    .option('--json', 'one JSON object a session')
    .action(async (session: string | undefined, flags: object) => exit(await undrain(session, flags)));
  addWakeCommands({ command: below, program, exit });
  command('doctor', 'Looks at server, store, workers and sessions, and says what is wrong and what that costs.')
    .option('--json', 'as one JSON object')
    .action(async (flags: object) => exit(await doctor(flags)));
  command('config', 'Shows every setting, and where its value was said: flag, variable, file, instance or default.')
    .option('--json', 'as one JSON object')
    .action((flags: object) => exit(config(flags)));
  addDeliveries(program, exit);
  program
    .command('replay <path>')
    .description("Replays recorded histories against this version's workflow.")
    .option('--bundle <path>', 'another workflow bundle')
    .action(async (path: string, flags: object) => {
      // Loaded only here: the worker's native library costs every other command half a second.
      const { replay } = await import('./replay.js');
      exit(await replay(path, flags));
    });
  return program;
}

function addDeliveries(program: Command, exit: (code: number) => void): void {
  const group = connected(program.command('deliveries').description('Lists what channels have not delivered yet.'))
    .option('--json', 'one JSON object a line')
    .option('--channel <name>', 'only this channel')
    .option('--all', 'delivered and dropped ones too')
    .option('--limit <count>', 'at most so many', parseCount, 100)
    .action(async (flags: { limit: number }) => exit(await deliveries(flags)));
  const command = (usage: string, description: string, run: (id: string, flags: object) => Promise<number>) =>
    connected(group.command(usage).description(description))
      .option('--json', 'as one JSON object')
      .action(async (id: string, _: object, self: Command) => exit(await run(id, self.optsWithGlobals())));
  command('show <id>', 'Shows a delivery.', showDelivery);
  command('retry <id>', 'Makes a delivery at once, a dead letter too.', retryDelivery);
  command('drop <id>', 'Gives a delivery up.', dropDelivery);
}

function connected(command: Command): Command {
  return command
    .option('--config <file>', 'the configuration file (VIGIL_CONFIG; default: vigil.json in this folder; off: none)')
    .option(
      '--address <host:port>',
      "Temporal's frontend (VIGIL_ADDRESS; default: the instance running in this folder)",
    )
    .option('--namespace <name>', 'VIGIL_NAMESPACE')
    .option('--task-queue <name>', 'VIGIL_TASK_QUEUE')
    .option('--store <path>', 'the session store (VIGIL_STORE)')
    .addHelpText('after', `\n${PRECEDENCE}`);
}

function parseCount(text: string): number {
  const count = Number(text);
  if (!(Number.isInteger(count) && count > 0 && count <= 10_000))
    throw new InvalidArgumentError('It must be a whole number from 1 to 10000.');
  return count;
}
