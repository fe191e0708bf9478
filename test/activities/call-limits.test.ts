import type { LanguageModelV3CallOptions } from '@ai-sdk/provider';
import { createDemoModel } from '../../activities/demo-model.js';
import { aModelThatSays } from '../support/activity-models.js';
import { ActivityWorld } from '../support/activity-world.js';

let world: ActivityWorld;
beforeEach(async () => void (world = await ActivityWorld.open()));
afterEach(() => world.close());

const reasoning = (chars: number) => aModelThatSays({ type: 'reasoning-delta', id: '0', delta: 'x'.repeat(chars) });

test("a call ends at its agent's cap on output, and not before", async () => {
  const over = { outputCharsPerCall: 2_000 };
  const { failure } = await world.worker(reasoning(2_001), over).callModel().end;
  expect(failure).toMatchObject({ type: 'ModelRejected', message: expect.stringMatching(/more than 2000 characters/) });
  const within = await world.worker(reasoning(2_000), over).callModel({ dispatch: 2 }).end;
  expect(within.failure?.message ?? '').not.toMatch(/characters/);
});

test("the provider is told the agent's cap on tokens", async () => {
  const asked: LanguageModelV3CallOptions[] = [];
  const demo = createDemoModel();
  const model = {
    ...demo,
    doStream: async (options: LanguageModelV3CallOptions) => (asked.push(options), demo.doStream(options)),
  };
  await world.worker(model, { maxOutputTokens: 77 }).callModel().end;
  await world.worker(model).callModel({ dispatch: 2, callId: 'second' }).end;
  expect(asked.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([77, undefined]);
});
