import { profileVersion, type Profile } from '../protocol/liveness.js';

/** The session's agent is not among those that this worker was started with. */
export class AgentUnavailableError extends Error {
  override name = 'AgentUnavailableError';
}

/** The turn's outcome is to go to a channel that this worker's configuration does not declare. */
export class ChannelUndeclaredError extends Error {
  override name = 'ChannelUndeclaredError';
  constructor(name: string, declared: ReadonlySet<string>) {
    super(problemOfChannel(name, declared)!);
  }
}

/** What is wrong with naming this channel, and what to do; `null` when it is declared. */
export function problemOfChannel(name: string, declared: ReadonlySet<string>): string | null {
  if (declared.has(name)) return null;
  const known = declared.size === 0 ? 'no channel' : `only ${[...declared].join(', ')}`;
  return `channel "${name}" is not declared: the configuration of the workers has ${known}; add it under "channels"`;
}

/** The session scheduled this call by settings that are no longer the agent's. */
export class ProfileChangedError extends Error {
  override name = 'ProfileChangedError';
  constructor(readonly profile: Profile) {
    super(`the agent's settings are now ${profileVersion(profile)}`);
  }
}

/** A tool will not do what it was asked; the message is for the model, and says what to do. */
export class ToolRefusal extends Error {
  override name = 'ToolRefusal';
}

/** The account with the provider takes nothing for a while: it said so now, or to an earlier call. */
export class AccountBusyError extends Error {
  override name = 'AccountBusyError';
  constructor(
    message: string,
    readonly retryAfterMs: number,
  ) {
    super(message);
  }
}
