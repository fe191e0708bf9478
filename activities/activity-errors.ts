import { profileVersion, type Profile } from '../protocol/liveness.js';

/** The session's agent is not among those that this worker was started with. */
export class AgentUnavailableError extends Error {
  override name = 'AgentUnavailableError';
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
