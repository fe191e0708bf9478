import { occurrenceOf, sourceOf } from '../../protocol/fates.js';
import type { Output } from '../../protocol/outputs.js';
import type { WakeView } from '../../protocol/wakes.js';

/** A wake in a few lines: what it is, when it is due, what became of it so far. */
export function renderWake(wake: WakeView): string {
  const { id, key, schedule, zone, fires, state, reason, counts, createdBy, expiresAtMs, pending } = wake;
  const name = key === null ? id : `${id}, key ${key}`;
  const expiry = expiresAtMs === null ? [] : [`expires ${new Date(expiresAtMs).toISOString()}`];
  const target = wake.target.kind === 'new' ? [`runs in the session ${wake.target.name}`] : [];
  const counted = `${counts.fired} fired, ${counts.skipped} skipped, ${counts.failures} failed in a row`;
  const lines = [
    ['schedule', [schedule, zone, ...expiry, ...target].join(', ')],
    ['next', fires.length === 0 ? 'none' : fires.map(({ text }) => text).join('\n')],
    ['state', `${state}${reason === null ? '' : `: ${reason}`}; ${counted}${pending === null ? '' : '; one pending'}`],
    ['created', `by ${createdBy}, ${new Date(wake.createdAtMs).toISOString()}`],
  ] as const;
  return [`wake ${name}`, ...lines.map(([label, text]) => row(label, text))].join('\n');
}

function row(label: string, text: string): string {
  return `  ${`${label}:`.padEnd(11)}${text.replaceAll('\n', `\n${' '.repeat(13)}`)}`;
}

type OfKind<Kind extends Output['kind']> = Extract<Output, { kind: Kind }>;
type WakeOutput = OfKind<
  'WakeScheduled' | 'WakeFired' | 'WakeDeferred' | 'WakeSkipped' | 'WakeCancelled' | 'WakeExpired' | 'WakeDisabled'
>;

export function isWakeOutput(output: Output): output is WakeOutput {
  return output.kind.startsWith('Wake');
}

/** What became of a wake, in a short line. */
export function renderWakeOutput(output: WakeOutput): string {
  const wake = `wake ${output.wakeId}`;
  switch (output.kind) {
    case 'WakeScheduled':
      return `[${wake} ${output.replaced ? 'changed' : 'scheduled'}: ${output.schedule}; next ${output.fires[0]?.text ?? 'none'}]`;
    case 'WakeFired':
      return `[${wake} fired, due ${at(output)}${output.sessionId === undefined ? '' : `, in the session ${output.sessionId}`}]`;
    case 'WakeDeferred':
      return `[${wake}, due ${at(output)}, waits, number ${output.position}]`;
    case 'WakeSkipped':
      return `[${wake}, due ${at(output)}, skipped: ${SKIPPED[output.reason]}]`;
    case 'WakeCancelled':
      return `[${wake} cancelled by ${output.by}${underWay(output)}]`;
    case 'WakeExpired':
      return `[${wake} expired]`;
    case 'WakeDisabled':
      return `[${wake} disabled: ${output.reason}]`;
  }
}

const SKIPPED: Readonly<Record<OfKind<'WakeSkipped'>['reason'], string>> = {
  too_late: 'it was too late',
  still_pending: 'the one before it has not ended',
  not_started: 'its session did not start',
  person_active: 'somebody was at work',
  missed: 'nobody was there to run it',
};

const at = ({ dueMs }: { dueMs: number }): string => new Date(dueMs).toISOString();

/** What a cancelled wake had under way. */
export function underWay({ running, stopped }: { running: string | null; stopped: boolean }): string {
  if (running === null) return '';
  return stopped ? `; its turn ${running} was stopped` : `; its turn ${running} goes on to its end`;
}

/** What a reminder's sender was told. */
export function renderReminder({ reminderId, dueMs, disposition }: OfKind<'ReminderReceived'>): string {
  const reminder = `reminder ${reminderId}, due ${at({ dueMs })}`;
  switch (disposition.kind) {
    case 'queued':
      return `[${reminder}, waits, number ${disposition.position}]`;
    case 'refused':
      return `[${reminder}, refused: ${disposition.message}]`;
    case 'duplicate':
      return `[${reminder}, came again: ${disposition.fate}]`;
    case 'started':
    case 'steered':
      return `[${reminder}]`;
  }
}

/** An item that waits, by its kind and name. */
export function renderItemId(itemId: string): string {
  const { kind, key } = sourceOf(itemId);
  if (kind === 'message') return `message ${key}`;
  const { id, dueMs } = occurrenceOf(key);
  return `${kind} ${id}, due ${at({ dueMs })}`;
}
