/** An agent file: the demo agent with a stream gap of one second, so that a stall is soon noticed. */
import { defineAgent } from '../../activities/agent.js';
import { demoAgent } from '../../activities/demo-agent.js';

export default defineAgent({ ...demoAgent, name: 'quick', budgetsMs: { streaming: 1_000 } });
