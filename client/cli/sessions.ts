import { withClient, type ConnectionFlags } from './connect.js';

/** Lists sessions from the store. */
export async function sessions(
  flags: ConnectionFlags & { json?: boolean; limit: number; tenant?: string },
): Promise<number> {
  return withClient(flags, async (client) => {
    const { limit, tenant } = flags;
    const rows = await client.listSessions({ limit, ...(tenant === undefined ? {} : { tenant }) });
    if (flags.json) {
      for (const row of rows) process.stdout.write(`${JSON.stringify(row)}\n`);
      return 0;
    }
    if (rows.length === 0) process.stderr.write('no sessions yet; begin one with: vigil chat NAME\n');
    for (const row of rows) {
      const cells = [row.sessionId.padEnd(30), row.status.padEnd(10), `${row.turns} turns`.padEnd(12)];
      process.stdout.write(
        `${cells.join(' ')} last ${row.lastOutcome ?? 'none'}, ${new Date(row.updatedAtMs).toISOString()}, agent ${row.agent}\n`,
      );
    }
    return 0;
  });
}
