import { type Command, InvalidArgumentError, Option } from 'commander';
import { close } from './close.js';
import { remind, type RemindFlags } from './remind.js';
import { addWake, cancelWake, editWake, type WakeFlags, wakes } from './wakes.js';
import { parseDuration, parseInstant, parseInstantOrDuration } from './when.js';

interface Host {
  /** Begins a command that may connect to a server. */
  command(parent: Command, usage: string, description: string): Command;
  program: Command;
  exit(code: number): void;
}

/** The commands about why a session runs without being written to, and about its end. */
export function addWakeCommands({ command, program, exit }: Host): void {
  const listing = command(program, 'wakes [session]', "Lists a session's wakes; adds, changes and cancels them.")
    .option('--json', 'one JSON object a line')
    .enablePositionalOptions()
    .action(async (session: string | undefined, flags: object) => {
      if (session === undefined) return listing.help({ error: true });
      exit(await wakes(session, flags));
    });
  withTerms(command(listing, 'add <session>', 'Schedules a wake, beginning the session if there is none.'))
    .requiredOption('--prompt <text>', 'what the model is told when it is due')
    .option('--key <name>', 'your name of the wake: the same key again replaces it')
    .option('--agent <name>', 'the agent, when this begins the session')
    .action(async (session: string, flags: WakeFlags & { prompt: string }) => exit(await addWake(session, flags)));
  withTerms(command(listing, 'edit <session> <wake>', 'Changes a wake, by id or key: what is not given stays.'))
    .option('--prompt <text>', 'what the model is told when it is due')
    .option('--enable', 'puts a disabled wake to work again; any other change does so too')
    .action(async (session: string, wake: string, flags: WakeFlags) => exit(await editWake(session, wake, flags)));
  command(listing, 'cancel <session> <wake>', 'Removes a wake, by id or key: nothing of it starts a turn any more.')
    .option('--stop-running', 'ends its turn too, if it runs now')
    .option('--json', 'the answer as one JSON object')
    .action(async (session: string, wake: string, flags: object) => exit(await cancelWake(session, wake, flags)));
  command(
    program,
    'remind <session> <text>',
    'Sends a reminder that is due now: a turn of its own, once for its id and due time.',
  )
    .requiredOption('--id <id>', 'the reminder id')
    .requiredOption('--due <instant>', 'when it was meant for, like 2026-01-31T09:00:00Z', parseInstant)
    .addOption(
      new Option('--on-busy <what>', 'what to do while the session has other work').choices(['defer', 'refuse']),
    )
    .option('--origin <name>', 'who sends it, for the model to know')
    .option('--channel <name>', 'where the outcome goes besides the journal')
    .option('--agent <name>', 'the agent, when this begins the session')
    .option('--wait', 'until it has ended')
    .option('--timeout <seconds>', 'with --wait, give up after so long; the reminder stays accepted', parseSeconds)
    .option('--json', 'one JSON object a state')
    .action(async (session: string, text: string, flags: RemindFlags) => exit(await remind(session, text, flags)));
  command(program, 'close <session>', 'Ends a session for good: its turn, what waits, every wake. Safe to repeat.')
    .option('--json', 'the answer as one JSON object')
    .action(async (session: string, flags: object) => exit(await close(session, flags)));
}

function withTerms(command: Command): Command {
  const instant = (text: string) => parseInstantOrDuration(text, Date.now());
  return command
    .option('--in <time>', 'once, so long from now: 10s, 5m, 1h30m, 2d', parseDuration)
    .option('--at <instant>', 'once, at an instant like 2026-01-31T09:00:00Z', parseInstant)
    .option('--every <time>', 'again and again, so long apart', parseDuration)
    .option('--cron <expression>', 'minute, hour, day of month, month, day of week: "0 9 * * 1-5"')
    .option('--zone <name>', 'the time zone of --cron, like Europe/Paris (default: the setting timeZone)')
    .option('--expires <when>', 'over from then on: an instant, or a time from now', instant)
    .addOption(
      new Option('--missed <rule>', 'what becomes of due times at which no worker ran').choices(['fire_once', 'skip']),
    )
    .option('--max-lateness <time>', 'what could only run later than this is skipped', parseDuration)
    .option('--jitter <time>', 'fires a fixed part of this time later, to spread many sessions', parseDuration)
    .option(
      '--skip-when-active <time>',
      'skips a due time at which a message came within so long before it',
      parseDuration,
    )
    .option('--channel <name>', 'where outcomes go besides the journal')
    .option('--new-session [name]', 'runs in a session of its own; {due} in its name stands for the due time')
    .option('--json', 'the answer as one JSON object');
}

export function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!(seconds > 0 && seconds <= 1_000_000)) throw new InvalidArgumentError('It must be a number of seconds above 0.');
  return seconds;
}
