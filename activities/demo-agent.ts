import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { defineAgent, defineTool } from './agent.js';

/** The agent of the embedded defaults; every worker has it unless an agent file defines its own `demo`. */
export const demoAgent = defineAgent({
  name: 'demo',
  instructions: 'You are a helpful assistant in a demonstration of durable sessions. Answer briefly.',
  // A tiny local model does not always find an end by itself.
  maxOutputTokens: 512,
  tools: [
    defineTool({
      name: 'clock',
      description: 'Tells the current date and time in UTC.',
      input: z.object({}),
      idempotent: true,
      run: () => new Date().toISOString(),
    }),
    defineTool({
      name: 'add',
      description: 'Adds two numbers.',
      input: z.object({ a: z.number(), b: z.number() }),
      idempotent: true,
      run: ({ a, b }) => String(a + b),
    }),
    defineTool({
      name: 'wait',
      description: 'Waits for some seconds, telling of its progress each second.',
      input: z.object({ seconds: z.number().min(0).max(600) }),
      idempotent: true,
      async run({ seconds }, { signal, progress }) {
        for (let waited = 0; waited < seconds; waited++) {
          await delay(Math.min(1, seconds - waited) * 1_000, undefined, { signal });
          progress(`${waited + 1} of ${seconds} s`);
        }
        return `waited for ${seconds} s`;
      },
    }),
  ],
});
