import type { StopAnswer } from '../../protocol/session-input.js';
import { withClient, type ConnectionFlags } from './connect.js';

export async function stop(
  session: string,
  flags: ConnectionFlags & { turn?: string; json?: boolean },
): Promise<number> {
  return withClient(flags, async (client) => {
    const answer = await client.stop(session, flags.turn === undefined ? {} : { turnId: flags.turn });
    process.stdout.write(flags.json ? `${JSON.stringify({ session, ...answer })}\n` : `${renderStop(answer)}\n`);
    return 0;
  });
}

export function renderStop(answer: StopAnswer): string {
  if (answer.kind === 'stopped') {
    return `stopped turn ${answer.turnId}; ${answer.next === null ? 'nothing runs next' : `message ${answer.next} runs next`}`;
  }
  return `nothing to stop${answer.ended === undefined ? '' : `; turn ${answer.ended} has ended`}`;
}
