/**
 * An agent file for silences. Of each kind of provider there is an agent for each stream gap that VIGIL_TEST_GAPS_MS lists, called
 * KIND-GAP; the providers are where the environment says. What tools did, they append to the file that VIGIL_TEST_TRACE names.
 */
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { type AgentDefinition, defineAgent, defineTool, type ToolContext } from '../../activities/agent.js';
import { stallBudgets } from './stall-scenes.js';

const BLOCK_MS = 3_000;

const effect = defineTool({
  name: 'effect',
  description: 'Does what must not be done twice.',
  input: z.object({ note: z.string() }),
  run(_, context) {
    trace(context);
    return 'done';
  },
});

const stuck = (silenceMs: number) =>
  defineTool({
    name: 'stuck',
    description: 'Has its effect, and never comes back.',
    input: z.object({}),
    silenceMs,
    run(_, context) {
      trace(context);
      return new Promise(() => undefined);
    },
  });

function trace({ sessionId, toolCallId }: ToolContext): void {
  const path = process.env['VIGIL_TEST_TRACE'];
  if (path) appendFileSync(path, `${JSON.stringify({ sessionId, toolCallId })}\n`);
}

/** Works for three times as long as it may be silent. */
const work = (silenceMs: number) =>
  defineTool({
    name: 'work',
    description: 'Works for a while.',
    input: z.object({}),
    silenceMs,
    async run(_, { progress, signal }) {
      for (let half = 0; half < 6; half++) {
        await delay(silenceMs / 2, undefined, { signal });
        progress();
      }
      return 'worked';
    },
  });

const block = defineTool({
  name: 'block',
  description: 'Leaves the event loop of its worker no moment.',
  input: z.object({}),
  run() {
    for (const endMs = Date.now() + BLOCK_MS; Date.now() < endMs;);
    return 'blocked';
  },
});

function agentsOf(gapMs: number): AgentDefinition[] {
  const budgetsMs = stallBudgets(gapMs);
  const tools = [effect, work(gapMs), stuck(gapMs), block];
  const compatible = process.env['VIGIL_TEST_COMPATIBLE'] ?? 'demo';
  return [
    defineAgent({ name: `openai-compatible-${gapMs}`, model: compatible, budgetsMs, tools }),
    defineAgent({ name: `anthropic-${gapMs}`, model: 'anthropic:claude-sonnet-4-5', budgetsMs, tools }),
    defineAgent({ name: `never-resumed-${gapMs}`, model: compatible, budgetsMs, tools, resumesPerTurn: 0 }),
    defineAgent({ name: `unreachable-${gapMs}`, model: process.env['VIGIL_TEST_UNREACHABLE'] ?? 'demo', budgetsMs }),
  ];
}

export default (process.env['VIGIL_TEST_GAPS_MS'] ?? '').split(',').map(Number).flatMap(agentsOf);
