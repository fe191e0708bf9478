/** Takes one line for a person to read; never throws. */
export type Report = (line: string) => void;

const QUIET_MS = 2_000;
const REPEAT_MS = 10_000;

/** Runs `work`; once it takes longer than a person would wait without asking, says what it does, and how long it took. */
export async function withProgress<T>(report: Report, what: string, work: () => Promise<T>): Promise<T> {
  const startedMs = Date.now();
  const elapsed = () => `${((Date.now() - startedMs) / 1_000).toFixed(1)} s`;
  let announced = false;
  let timer = setTimeout(function announce() {
    report(announced ? `${what}: still at it after ${elapsed()}` : `${what} …`);
    announced = true;
    timer = setTimeout(announce, REPEAT_MS);
  }, QUIET_MS);
  try {
    const result = await work();
    if (announced) report(`${what}: done in ${elapsed()}`);
    return result;
  } finally {
    clearTimeout(timer);
  }
}
