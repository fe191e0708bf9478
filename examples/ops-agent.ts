/**
 * An agent of your own. Run it with: npm start -- --agent examples/ops-agent.ts
 * and talk to it with: npx vigil chat ops --agent ops --message "how is the disk?"
 */
import { defineAgent, defineTool } from '@vigil/sessions/agent';
import { statfs } from 'node:fs/promises';
import { loadavg, uptime } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';

const disk = defineTool({
  name: 'disk',
  description: 'Tells how much space is free at a path of this machine, in bytes.',
  input: z.object({ path: z.string().default('/') }),
  // Reading twice does no harm, so the call is simply repeated when its worker is lost.
  idempotent: true,
  async run({ path }) {
    const { bavail, bsize, blocks } = await statfs(path);
    return { path, freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  },
});

const load = defineTool({
  name: 'load',
  description: 'Tells the load averages and the uptime of this machine.',
  input: z.object({}),
  idempotent: true,
  run: () => ({ loadAverages: loadavg(), uptimeSeconds: uptime() }),
});

const watch = defineTool({
  name: 'watch_load',
  description: 'Samples the load once a second for some seconds and returns the samples.',
  input: z.object({ seconds: z.number().int().min(1).max(600) }),
  idempotent: true,
  // A long tool stays alive by telling of real progress; silent for longer than this it counts as stalled.
  silenceMs: 10_000,
  async run({ seconds }, { progress, signal }) {
    const samples: number[] = [];
    for (let second = 0; second < seconds; second++) {
      await delay(1_000, undefined, { signal });
      samples.push(loadavg()[0] ?? 0);
      progress(`${second + 1} of ${seconds}`);
    }
    return samples;
  },
});

export default defineAgent({
  name: 'ops',
  instructions: 'You look after this machine. Use the tools; say what you saw, briefly.',
  tools: [disk, load, watch],
});
