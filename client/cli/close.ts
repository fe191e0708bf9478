import type { CloseAnswer } from '../../protocol/wakes.js';
import { withClient, type ConnectionFlags } from './connect.js';
import { renderItemId } from './render-wake.js';

/** Ends a session for good, and says what ended with it. */
export async function close(session: string, flags: ConnectionFlags & { json?: boolean }): Promise<number> {
  return withClient(flags, async (client) => {
    const answer = await client.closeSession(session);
    const told = flags.json ? JSON.stringify({ session, ...answer }) : renderClose(session, answer);
    process.stdout.write(`${told}\n`);
    return 0;
  });
}

function renderClose(session: string, { kind, turnId, items, wakes }: CloseAnswer): string {
  return [
    kind === 'closed' ? `closed ${session}` : `${session} was closed before`,
    ...(turnId === null ? [] : [`turn ${turnId} was ended`]),
    ...(wakes.length === 0 ? [] : [`wakes removed: ${wakes.join(', ')}`]),
    ...(items.length === 0 ? [] : [`refused, for they waited: ${items.map(renderItemId).join('; ')}`]),
  ].join('\n');
}
