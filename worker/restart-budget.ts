const WINDOW_MS = 60_000;
const EXITS_PER_WINDOW = 5;
const FIRST_DELAY_MS = 50;

/** How soon a process that ended unexpectedly is started again, and when starting it again is no longer worth it. */
export class RestartBudget {
  #exitsMs: number[] = [];

  /** Counts an exit. Answers with the time to wait before the next start; `null` when there should be none. */
  spend(nowMs: number): number | null {
    this.#exitsMs = [...this.#exitsMs.filter((exitMs) => nowMs - exitMs < WINDOW_MS), nowMs];
    const exits = this.#exitsMs.length;
    return exits >= EXITS_PER_WINDOW ? null : FIRST_DELAY_MS * 2 ** (exits - 1);
  }
}
