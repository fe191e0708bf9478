import type { SessionView, TurnProgress } from '../../protocol/view.js';
import type { WakeView } from '../../protocol/wakes.js';
import type { SessionRow } from '../../store/session-store.js';
import { SessionError } from '../session-error.js';
import { withClient, type ConnectionFlags } from './connect.js';
import { exitCodeOfError } from './exit-codes.js';
import { renderUsage } from './render-turn.js';
import { renderItemId } from './render-wake.js';

/** Shows a session: what its workflow says, or, without a worker, what the store knows. */
export async function show(session: string, flags: ConnectionFlags & { json?: boolean }): Promise<number> {
  return withClient(flags, async (client) => {
    const row = await client.findSession(session);
    try {
      const view = await client.state(session);
      process.stdout.write(flags.json ? `${JSON.stringify({ ...view, stored: row })}\n` : renderView(view));
      return 0;
    } catch (error) {
      if (!(error instanceof SessionError) || !row || error.code === 'invalid_input') throw error;
      process.stderr.write(`vigil: ${error.message}\nFrom the store:\n`);
      process.stdout.write(flags.json ? `${JSON.stringify({ stored: row })}\n` : renderRow(row));
      return exitCodeOfError(error.code);
    }
  });
}

function renderView(view: SessionView): string {
  const { turn, suspended, lastOutcome, profile } = view;
  const budgets = Object.entries(profile.budgetsMs).map(([phase, ms]) => `${phase} ${ms / 1_000} s`);
  const lines = [
    ['session', view.sessionId],
    ['agent', `${view.agent}, ${view.model === null ? 'no model has answered yet' : `model ${view.model}`}`],
    [
      'status',
      suspended
        ? `suspended (${suspended.reason}): ${suspended.message}`
        : `${view.status}${view.draining ? ', draining' : ''}`,
    ],
    ['turn', turn ? `${turn.turnId}, ${turn.source.kind} ${turn.source.key}; ${turn.step}` : 'none'],
    ...(turn
      ? [
          ['last progress', renderProgress(turn.lastProgress)],
          [
            'budgets',
            Object.entries(turn.budgets)
              .map(([name, { used, limit }]) => `${name} ${used}/${limit}`)
              .join(', '),
          ],
        ]
      : []),
    ['queue', view.queue.length === 0 ? 'empty' : view.queue.map(({ id }) => renderItemId(id)).join('; ')],
    ['wakes', view.wakes.length === 0 ? 'none' : view.wakes.map(renderNext).join('; ')],
    [
      'turns',
      `${view.turns}${lastOutcome ? `; last ${lastOutcome.outcome}${lastOutcome.reason ? `: ${lastOutcome.reason}` : ''}` : ''}`,
    ],
    ['usage', renderUsage(view.usage) || 'unknown'],
    [
      'silence allowed',
      `${budgets.join(', ')}; a turn in which nothing moves ends within ${minutes(view.worstSilenceMs)}`,
    ],
    ['time allowed', `${view.totalLimitMs / 3_600_000} h for one attempt of a call, however lively it is`],
  ];
  return `${lines.map(([name, value]) => `${`${name}:`.padEnd(17)}${value}`).join('\n')}\n`;
}

function renderNext({ id, key, schedule, state, fires }: WakeView): string {
  const when = state === 'disabled' ? 'disabled' : `next ${fires[0]?.text ?? 'none'}`;
  return `${key ?? id} (${schedule}; ${when})`;
}

function renderProgress({ kind, phase, atMs }: TurnProgress): string {
  const where = phase === null ? '' : `, phase ${phase}`;
  return `${kind.replaceAll('_', ' ')}${where}, ${new Date(atMs).toISOString()}`;
}

const minutes = (ms: number): string => `${Math.ceil(ms / 6_000) / 10} min`;

function renderRow(row: SessionRow): string {
  return `${row.sessionId}: ${row.status}, agent ${row.agent}, ${row.turns} turns, last ${row.lastOutcome ?? 'none'}, updated ${new Date(row.updatedAtMs).toISOString()}\n`;
}
