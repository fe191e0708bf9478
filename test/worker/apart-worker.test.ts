import { ApartWorkers, type ApartWorker } from '../../worker/apart-worker.js';
import { until } from '../support/until.js';

class FakeWorker implements ApartWorker {
  isStopped = false;
  giveUp: (reason: string) => void = () => undefined;
  readonly gaveUp = new Promise<string>((resolve) => (this.giveUp = resolve));
  constructor(readonly start: () => Promise<unknown> = () => Promise.resolve()) {}
  readonly stop = async () => void (this.isStopped = true);
  readonly kill = () => void (this.isStopped = true);
}

/** What the store says of suspects; `null`: it does not answer. */
let suspects: number | null;
let opened: FakeWorker[];
let running: ApartWorkers;

function begin(make = () => new FakeWorker()): string[] {
  [suspects, opened] = [0, []];
  const lines: string[] = [];
  running = new ApartWorkers({
    store: {
      countSuspects: () => (suspects === null ? Promise.reject(new Error('away')) : Promise.resolve(suspects)),
    },
    open: () => Promise.resolve(opened[opened.push(make()) - 1]!),
    report: (line) => lines.push(line),
    ...{ lookMs: 5, idleMs: 60 },
  });
  running.start();
  return lines;
}

afterEach(() => running.stop());

const looks = () => new Promise((resolve) => setTimeout(resolve, 40));

test('a worker runs while there are suspects, and one is enough', async () => {
  begin();
  await looks();
  expect(opened).toHaveLength(0);
  suspects = 1;
  await until('a worker', () => opened.length === 1);
  suspects = 3;
  await looks();
  expect(opened).toHaveLength(1);
  expect(opened[0]!.isStopped).toBe(false);
  suspects = 0;
  await until('its end', () => opened[0]!.isStopped);
  suspects = 1;
  await until('another', () => opened.length === 2);
});

test('a store that is away ends nothing and starts nothing', async () => {
  begin();
  suspects = 1;
  await until('a worker', () => opened.length === 1);
  suspects = null;
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(opened.map(({ isStopped }) => isStopped)).toEqual([false]);
});

test('one that gave up, or did not start, is said so and followed by another', async () => {
  let starts = 0;
  const lines = begin(
    () => new FakeWorker(() => (++starts === 2 ? Promise.reject(new Error('no room')) : Promise.resolve())),
  );
  suspects = 1;
  await until('a worker', () => opened.length === 1);
  opened[0]!.giveUp('it keeps failing');
  await until('two more', () => opened.length === 3);
  expect(opened.map(({ isStopped }) => isStopped)).toEqual([true, true, false]);
  expect(lines).toContain('the worker for suspects: it keeps failing');
  expect(lines).toContain('the worker for suspects did not start: no room');
});

test('a stop ends it', async () => {
  begin();
  suspects = 1;
  await until('a worker', () => opened.length === 1);
  await running.stop();
  expect(opened[0]!.isStopped).toBe(true);
});
