import { withClient, type ConnectionFlags } from './connect.js';

export async function resume(session: string, flags: ConnectionFlags & { fromStore?: boolean }): Promise<number> {
  return withClient(flags, async (client) => {
    const answer = await client.resume(session, { fromStore: flags.fromStore === true });
    process.stdout.write(answer === 'resumed' ? `${session} goes on\n` : `${session} is not suspended\n`);
    return 0;
  });
}
