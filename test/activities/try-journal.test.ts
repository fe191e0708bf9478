import { TryJournal } from '../../activities/try-journal.js';
import type { NewOutput, OutputBody } from '../../protocol/outputs.js';
import { StaleTryError } from '../../store/session-store.js';
import { SESSION } from '../support/store-builders.js';
import { until } from '../support/until.js';

const REF = { sessionId: SESSION, callId: 't1.1', dispatch: 1, attempt: 2 };
const OF_TRY = { turnId: 't1', callId: 't1.1', try: { dispatch: 1, attempt: 2 } };
const text = (value: string): OutputBody => ({ kind: 'TextDelta', text: value, ...OF_TRY });
const reasoning = (value: string): OutputBody => ({ kind: 'ReasoningDelta', text: value, ...OF_TRY });
const warning: OutputBody = { kind: 'StallWarning', phase: 'prefill', silentMs: 1, budgetMs: 2, ...OF_TRY };

/** A journal on a store that keeps what is written, and fails when it is told to. */
function aJournal(write: () => Promise<void> = () => Promise.resolve()) {
  const batches: NewOutput[][] = [];
  const failures: unknown[] = [];
  const appendTryOutputs = async (_ref: unknown, outputs: NewOutput[]) => {
    batches.push(outputs);
    await write();
  };
  const evidence = () => ({ phase: 'streaming' as const, charsReceived: 1, firstTokenMs: 1 });
  const journal = new TryJournal({ appendTryOutputs }, REF, evidence, (error) => failures.push(error));
  journal.open();
  return { journal, batches, failures };
}

/** Outputs in short words. */
const short = (outputs: NewOutput[]) =>
  outputs.map((output) => ('text' in output ? `${output.kind} ${output.text}` : output.kind));

test('neighbouring deltas of one kind become one output', async () => {
  const { journal, batches } = aJournal();
  for (const body of [text('a'), text('b'), reasoning('c'), text('d'), warning, text('e')]) journal.add(body);
  await journal.flush();
  expect(batches.map(short)).toEqual([
    ['TextDelta ab', 'ReasoningDelta c', 'TextDelta d', 'StallWarning', 'TextDelta e'],
  ]);
});

test('what was added is written within the batch time, without being asked', async () => {
  const { journal, batches } = aJournal();
  journal.add(text('a'));
  journal.add(text('b'));
  expect(batches).toEqual([]);
  await until('the batch', () => batches.length > 0, 2_000);
  expect(batches.map(short)).toEqual([['TextDelta ab']]);
});

test('writes follow each other, in order, with keys of their own', async () => {
  let running = 0;
  const { journal, batches } = aJournal(async () => {
    expect(++running).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    running--;
  });
  const flushes = ['a', 'b', 'c'].map((value) => {
    journal.add(text(value));
    return journal.flush();
  });
  await Promise.all(flushes);
  expect(batches.map(short)).toEqual([['TextDelta abc']]);
  journal.add(text('d'));
  await journal.flush();
  expect(batches.flat().map((output) => output.key)).toEqual(['t1.1/1.2/1', 't1.1/1.2/2']);
});

test('the first failure is told once, and nothing is written after it', async () => {
  const { journal, batches, failures } = aJournal(() => Promise.reject(new StaleTryError('too late')));
  journal.add(text('a'));
  await journal.flush();
  journal.add(text('b'));
  await journal.flush();
  expect(batches).toHaveLength(1);
  expect(failures).toEqual([new StaleTryError('too late')]);
});

test('what is left at the end is handed over without the deltas, which the whole text replaces', async () => {
  const { journal, batches } = aJournal();
  for (const body of [text('a'), warning, reasoning('b')]) journal.add(body);
  expect(short(await journal.close())).toEqual(['StallWarning']);
  expect(batches).toEqual([]);
});

test('nothing is taken after the end', async () => {
  const { journal, batches } = aJournal();
  await journal.close();
  journal.add(warning);
  await journal.flush();
  expect(await journal.close()).toEqual([]);
  expect(batches).toEqual([]);
});
