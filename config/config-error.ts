/** Settings that cannot be used; the message lists every problem. */
export class ConfigError extends Error {
  override name = 'ConfigError';

  /** @throws ConfigError when there is a problem */
  static throwIfAny(problems: readonly string[]): void {
    if (problems.length > 0) throw new ConfigError(`the settings cannot be used:\n- ${problems.join('\n- ')}`);
  }
}
