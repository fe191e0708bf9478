import { openStore } from '../../store/open-store.js';
import type { DeliveryState, SessionStore, StoredDelivery } from '../../store/session-store.js';
import { SessionError } from '../session-error.js';
import { readConfig, type ConnectionFlags } from './connect.js';

type DeliveryFlags = ConnectionFlags & { json?: boolean };
type ListFlags = DeliveryFlags & { channel?: string; all?: boolean; limit: number };

/** What still wants somebody's attention, or time. */
const OPEN: readonly DeliveryState[] = ['pending', 'dead'];

/** Lists deliveries that have not been made; with `--all`, the others too. From the store: no server is asked. */
export function deliveries(flags: ListFlags): Promise<number> {
  return withStore(flags, async (store) => {
    const { limit, channel, all } = flags;
    const query = { limit, ...(channel === undefined ? {} : { channel }), ...(all ? {} : { states: OPEN }) };
    const found = await store.listDeliveries(query);
    if (found.length === 0 && !flags.json) process.stderr.write('no deliveries wait, and none is dead\n');
    for (const delivery of found) print(flags, delivery, toLine(delivery));
  });
}

export function showDelivery(id: string, flags: DeliveryFlags): Promise<number> {
  return withStore(flags, async (store) => {
    const delivery = await store.findDelivery(id);
    if (!delivery) throw unknown(id);
    print(flags, delivery, toText(delivery));
  });
}

/** Makes a delivery due at once, whatever became of it, unless it was made. */
export function retryDelivery(id: string, flags: DeliveryFlags): Promise<number> {
  return change(id, flags, (store) => store.retryDelivery(id));
}

export function dropDelivery(id: string, flags: DeliveryFlags): Promise<number> {
  return change(id, flags, (store) => store.dropDelivery(id));
}

function change(id: string, flags: DeliveryFlags, apply: (store: SessionStore) => Promise<boolean>): Promise<number> {
  return withStore(flags, async (store) => {
    const isChanged = await apply(store);
    const delivery = await store.findDelivery(id);
    if (!delivery) throw unknown(id);
    if (!isChanged) throw new SessionError('invalid_input', `delivery ${id} has been made already`);
    print(flags, delivery, `${id}: ${delivery.state}`);
  });
}

async function withStore(flags: ConnectionFlags, use: (store: SessionStore) => Promise<void>): Promise<number> {
  const store = await openStore(readConfig(flags).store);
  try {
    await use(store);
    return 0;
  } finally {
    await store.close();
  }
}

function print({ json }: DeliveryFlags, delivery: StoredDelivery, text: string): void {
  process.stdout.write(`${json ? JSON.stringify(delivery) : text}\n`);
}

function toLine({ id, state, channel, sessionId, subject, attempts, problem }: StoredDelivery): string {
  const what = [id.padEnd(28), state.padEnd(9), channel.padEnd(16), `${sessionId} ${subject}`];
  return `${what.join(' ')}, ${attempts} attempts${problem === null ? '' : `: ${problem}`}`;
}

function toText(delivery: StoredDelivery): string {
  const { id, state, channel, sessionId, subject, part, attempts, sinceMs, dueMs, problem, updatedAtMs } = delivery;
  const lines = [
    ...[
      ['delivery', id],
      ['state', state],
      ['channel', channel],
      ['session', sessionId],
      [part, subject],
    ],
    ...[
      ['attempts', String(attempts)],
      ['since', toInstant(sinceMs)],
    ],
    ...(state === 'pending' ? [['next attempt', toInstant(dueMs)]] : []),
    ...[
      ['problem', problem ?? 'none'],
      ['changed', toInstant(updatedAtMs)],
    ],
  ];
  return lines.map(([name, value]) => `${`${name}:`.padEnd(14)}${value}`).join('\n');
}

const toInstant = (ms: number): string => new Date(ms).toISOString();

function unknown(id: string): SessionError {
  return new SessionError('invalid_input', `there is no delivery "${id}"; see: vigil deliveries --all`);
}
