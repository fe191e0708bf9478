import { z } from 'zod';
import { defineAgent, defineTool } from './agent.js';

/** The agent of the embedded defaults; every worker has it unless an agent file defines its own `demo`. */
export const demoAgent = defineAgent({
  name: 'demo',
  instructions: 'You are a helpful assistant in a demonstration of durable sessions. Answer briefly.',
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
  ],
});
