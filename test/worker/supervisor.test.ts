import { RestartBudget } from '../../worker/restart-budget.js';
import { Supervisor, type Running } from '../../worker/supervisor.js';
import { until } from '../support/until.js';

class FakeProcess implements Running {
  end: (reason: string) => void = () => undefined;
  readonly exited = new Promise<string>((resolve) => (this.end = resolve));
  readonly pid = 1;
  readonly logTail = () => 'last words';
  readonly kill = () => this.end('killed');
  readonly stop = async () => this.end('stopped');
}

function aSupervisor(start: () => Promise<FakeProcess>, isFutile = false, isExcused = false) {
  const started: FakeProcess[] = [];
  const lines: string[] = [];
  const supervisor = new Supervisor<FakeProcess>({
    name: 'it',
    start,
    onStarted: (running) => started.push(running),
    isFutile: () => isFutile,
    isExcused: () => Promise.resolve(isExcused),
    report: (line) => lines.push(line),
  });
  return { supervisor, started, lines };
}

const aProcess = () => Promise.resolve(new FakeProcess());

test('a process that ended is started again, and the reason is told', async () => {
  const { supervisor, started, lines } = aSupervisor(aProcess);
  await supervisor.start();
  started[0]?.end('signal SIGKILL');
  await until('a second start', () => started.length === 2);
  expect(lines).toEqual(['it: it ended (signal SIGKILL); starting it again in 50 ms']);
  await supervisor.stop();
});

test('nothing is started after stop', async () => {
  const { supervisor, started } = aSupervisor(aProcess);
  await supervisor.start();
  await supervisor.stop();
  expect(started).toHaveLength(1);
});

test('a stop during the first start ends what it started', async () => {
  const process = new FakeProcess();
  let begin: (process: FakeProcess) => void = () => undefined;
  const { supervisor } = aSupervisor(() => new Promise((resolve) => (begin = resolve)));
  const starting = supervisor.start();
  const stopping = supervisor.stop();
  begin(process);
  await expect(starting).rejects.toThrow();
  await stopping;
  await expect(process.exited).resolves.toBe('stopped');
});

test('a first start that cannot succeed is not repeated', async () => {
  let starts = 0;
  const start = () => {
    starts += 1;
    return Promise.reject(new Error('faulty agent file'));
  };
  const { supervisor } = aSupervisor(start, true);
  await expect(supervisor.start()).rejects.toThrow('faulty agent file');
  expect(starts).toBe(1);
});

test('a process that keeps ending is given up, with its last words', async () => {
  const { supervisor } = aSupervisor(async () => {
    const process = new FakeProcess();
    setImmediate(() => process.end('exit code 3'));
    return process;
  });
  await supervisor.start();
  await expect(supervisor.gaveUp).resolves.toBe('it keeps failing and is given up: it ended (exit code 3)\nlast words');
  await supervisor.stop();
}, 20_000);

test('a process whose end is excused is started again at once, however often', async () => {
  const { supervisor, started, lines } = aSupervisor(aProcess, false, true);
  await supervisor.start();
  for (let ends = 1; ends <= 8; ends++) {
    started.at(-1)!.end('signal SIGKILL');
    await until(`start ${ends + 1}`, () => started.length === ends + 1);
  }
  expect(lines).toEqual([]);
  await supervisor.stop();
});

test('five exits within a minute are too many; spread over more, they are not', () => {
  const crowded = new RestartBudget();
  expect([0, 1, 2, 3, 4].map((second) => crowded.spend(second * 1_000))).toEqual([50, 100, 200, 400, null]);
  const spread = new RestartBudget();
  expect([0, 1, 2, 3, 4].map((minute) => spread.spend(minute * 60_000))).toEqual([50, 50, 50, 50, 50]);
});
