import { z } from 'zod';
import { createModel } from '../../activities/models.js';
import { budgetsOfLink } from '../../protocol/liveness.js';
import { createAgents, modelAt } from '../../activities/agents.js';
import { entriesFor } from '../../activities/foreign-entries.js';
import type { AgentDefinition } from '../../activities/agent.js';
import type { Entry } from '../../store/session-store.js';
import { givenProviders } from '../support/activity-providers.js';
import { type ActivityWorld, AGENT, answerOf, aTool } from '../support/activity-world.js';
import { type ProviderName, PROVIDERS, type TestProviders } from '../support/provider.js';
import { SESSION } from '../support/store-builders.js';

let providers: TestProviders;
let world: ActivityWorld;
givenProviders((given) => ({ providers, world } = given));

const pairs = PROVIDERS.flatMap((from) => PROVIDERS.filter((to) => to !== from).map((to) => ({ from, to })));

/** A worker whose agent begins with one provider and falls back on another. */
function chained(from: ProviderName, to: ProviderName) {
  const [first, second] = [providers.get(from).model, providers.get(to).model];
  const definition: Partial<AgentDefinition> = {
    model: first,
    fallbackModels: [second],
    tools: [aTool({ name: 'note', input: z.object({ n: z.number() }) })],
  };
  const modelOf = (agent: AgentDefinition, link: number) => modelAt(agent, link) as typeof first;
  return world.worker(modelOf, definition);
}

test.each(pairs)(
  '$to goes on where $from called a tool, and gets nothing that is not its own',
  async ({ from, to }) => {
    const worker = chained(from, to);
    providers.says({
      content: 'I note it.',
      reasoning: 'PRIVATE because',
      reasoningSignature: 'SIGNED',
      toolCalls: [{ name: 'note', arguments: '{"n":1}', id: 'functions.note:0' }],
    });
    const { head } = await answerOf(worker.callModel());
    await worker.callTool({ name: 'note' }).end;
    providers.says({ content: 'Noted.' });
    const answer = await answerOf(
      worker.callModel({
        ...{ callId: 't1.2', dispatch: 2, link: 1, head },
        append: [{ kind: 'toolResult', toolCallId: 't1.1.t1', name: 'note', lost: null }],
      }),
    );
    expect(answer).toMatchObject({ kind: 'answered', outcome: 'completed', model: providers.get(to).model.modelId });
    expect(providers.get(from).proxy.requests).toHaveLength(1);
    const [request] = providers.get(to).proxy.requests;
    expect(request!.body).toContain('I note it.');
    expect(request!.body).not.toMatch(/PRIVATE|SIGNED|"encrypted_content"|item_reference|functions\.note/);
    // The call and its result, under an id that every provider takes.
    expect(request!.body.match(/"t1_1_t1"/g)).toHaveLength(2);
    const usage = (await world.journal()).flatMap((output) => (output.kind === 'Usage' ? [output.model] : []));
    expect(usage).toEqual([providers.get(from).model.modelId, providers.get(to).model.modelId]);
    const entries = await world.store.transcript(SESSION, answer.head);
    expect(entries.at(-1)!.content).toMatchObject({ model: providers.get(to).model.modelId });
  },
);

test('a model gets back what was its own, also after another one spoke', () => {
  const said = (model: string, n: number): Entry => ({
    id: `e${n}`,
    parentId: null,
    content: {
      kind: 'assistant',
      model,
      parts: [
        { kind: 'reasoning', text: 'why', providerOptions: { x: { signature: 's' } } },
        { kind: 'toolCall', toolCallId: `t.${n}`, providerCallId: `call_${n}`, name: 'look', input: '{}' },
        { kind: 'text', text: 'done', providerOptions: { x: { itemId: 'i' } } },
      ],
    },
  });
  const user: Entry = { id: 'u', parentId: null, content: { kind: 'user', messageId: 'm', parts: [] } };
  const entries = [user, said('a', 1), said('b', 2)];
  const [kept, own, foreign] = entriesFor('a', entries);
  expect([kept, own]).toEqual([user, said('a', 1)]);
  expect(foreign!.content).toMatchObject({
    parts: [
      { kind: 'toolCall', providerCallId: 't_2' },
      { kind: 'text', text: 'done' },
    ],
  });
  expect(JSON.stringify(foreign)).not.toContain('providerOptions');
});

describe('the chain of an agent', () => {
  const agentOf = (over: Partial<AgentDefinition>) => createAgents([{ name: AGENT, ...over }], 'demo').get(AGENT)!;

  test('is in its profile, with the names and tables of its models', () => {
    const compatible = createModel('http://127.0.0.1:1/v1#small', {});
    const { profile, models } = agentOf({
      fallbackModels: ['openai:gpt-5', compatible],
      budgetsMs: { prefill: 90_000 },
    });
    expect(models).toEqual(['demo', 'openai:gpt-5', 'small']);
    expect(profile.links?.map((link) => link.model)).toEqual(models);
    expect(budgetsOfLink(profile, 2).prefill).toBe(90_000);
  });

  test('is not in the profile of an agent with one model', () => {
    expect(agentOf({ fallbackModels: [] }).profile).not.toHaveProperty('links');
  });

  test.each([[[' ']], ['openai:gpt-5'], [[{}]], [[null]], [Array.from({ length: 10 }, () => 'demo')]])(
    'is refused as %j',
    (fallbackModels) => {
      const over = { fallbackModels: fallbackModels as unknown as string[] };
      expect(() => agentOf(over)).toThrow(/fallbackModels must be a list of at most 9 models/);
    },
  );
});
