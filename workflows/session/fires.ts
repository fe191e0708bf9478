import { occurrenceOf } from '../../protocol/fates.js';
import type { Part } from '../../protocol/messages.js';
import type { ComputedFires, Fire } from '../../protocol/wakes.js';
import { isPersonActive, isStreakOver, pause } from './contact.js';
import { andThen, unchanged, type Change } from './effects.js';
import type { Moment } from './events.js';
import { toItem } from './occurrences.js';
import { say } from './outbox.js';
import { toSessionId } from './parse-wake.js';
import { remember } from './seen-items.js';
import type { FireRequest, SessionState, Wake } from './state.js';
import { changeWake, countFailures, disable, inWords, pendingOf, removeWake, sayCoalesced, spreadMs } from './wakes.js';

/** Due times that a wake knows ahead. */
export const FIRES_AHEAD = 3;
/** With `skip`, a due time that is taken up later than this was missed. */
const SKIP_AFTER_MS = 60_000;

/**
 * Ends what has expired and turns what is due into occurrences. Asked after every event, so a timer that comes late, or not at all,
 * loses nothing. A run that is about to roll over leaves it to the next one.
 */
export function fireDue(state: SessionState, moment: Moment): Change {
  if (moment.rollOverDue || state.closed) return unchanged(state);
  const expired = expire(state, moment.nowMs);
  const due = expired.wakes.filter((wake) => isDue(expired, wake, moment.nowMs));
  const inOrder = due.toSorted((one, other) => dueAtMs(expired, one) - dueAtMs(expired, other));
  return inOrder.reduce(
    (change, { id }) => andThen(change, (sofar) => fire(sofar, id, moment.nowMs)),
    unchanged(expired),
  );
}

function expire(state: SessionState, nowMs: number): SessionState {
  return state.wakes.reduce((sofar, { id, expiresAtMs }) => {
    if (expiresAtMs === null || expiresAtMs > nowMs) return sofar;
    return say(removeWake(sayCoalesced(sofar, id), id), { kind: 'WakeExpired', wakeId: id, expiredAtMs: expiresAtMs });
  }, state);
}

function dueAtMs(state: SessionState, wake: Wake): number {
  return wake.fires[0]!.dueMs + spreadMs(state, wake);
}

function isDue(state: SessionState, wake: Wake, nowMs: number): boolean {
  return wake.fires.length > 0 && dueAtMs(state, wake) <= nowMs;
}

/** One due time is over: it becomes an occurrence, or is skipped. Those that were missed with it are counted when the next are known. */
function fire(state: SessionState, wakeId: string, nowMs: number): Change {
  const wake = state.wakes.find(({ id }) => id === wakeId)!;
  const due = wake.fires[0]!;
  const lateMs = nowMs - dueAtMs(state, wake);
  const consumed = consume(state, wake, due.dueMs, nowMs);
  const reason = skipReason(state, wake, { lateMs, nowMs });
  if (reason !== null) return unchanged(skip(consumed, wake, { due, lateMs, reason }));
  if (isStreakOver(state, wake)) return unchanged(pause(state, wakeId));
  const counted = changeWake(consumed, wakeId, ({ counts, ...rest }) => ({
    ...rest,
    counts: { ...counts, fired: counts.fired + 1 },
  }));
  const isSelfMade = wake.createdBy.rank === 'agent';
  const fired = isSelfMade ? { ...counted, selfMadeFires: counted.selfMadeFires + 1 } : counted;
  return wake.target.kind === 'new' ? send(fired, wake, due, lateMs) : unchanged(enqueue(fired, wake, due));
}

type SkipReason = 'too_late' | 'still_pending' | 'person_active';

function skipReason(
  state: SessionState,
  wake: Wake,
  { lateMs, nowMs }: { lateMs: number; nowMs: number },
): SkipReason | null {
  const allowedMs = wake.maxLatenessMs ?? (wake.missed === 'skip' ? SKIP_AFTER_MS : Infinity);
  if (lateMs > allowedMs) return 'too_late';
  if (pendingOf(state, wake.id) !== null) return 'still_pending';
  return isPersonActive(state, wake, nowMs) ? 'person_active' : null;
}

/** What meets an occurrence of its own wake is told of when that has ended, with others; the rest at once. */
function skip(
  consumed: SessionState,
  { id: wakeId, schedule }: Wake,
  { due: { dueMs }, lateMs, reason }: { due: Fire; lateMs: number; reason: SkipReason },
): SessionState {
  const counted = countSkipped(consumed, wakeId, 1);
  if (reason !== 'still_pending' || schedule.kind === 'once') {
    return say(counted, { kind: 'WakeSkipped', wakeId, dueMs, lateMs, reason });
  }
  return changeWake(counted, wakeId, ({ coalesced, ...wake }) => ({
    ...wake,
    coalesced: {
      count: (coalesced?.count ?? 0) + 1,
      firstDueMs: coalesced?.firstDueMs ?? dueMs,
      lastDueMs: dueMs,
    },
  }));
}

/** A wake without further due times is gone; what follows finds its item. */
function consume(state: SessionState, wake: Wake, dueMs: number, nowMs: number): SessionState {
  if (wake.schedule.kind === 'once') return removeWake(sayCoalesced(state, wake.id), wake.id);
  const passedMs = Math.max(dueMs, nowMs - spreadMs(state, wake));
  return changeWake(state, wake.id, (found) => ({
    ...found,
    lastDueMs: dueMs,
    needsFires: true,
    fires: found.fires.filter((fire) => fire.dueMs > passedMs),
  }));
}

function countSkipped(state: SessionState, wakeId: string, skipped: number): SessionState {
  return changeWake(state, wakeId, (wake) => ({
    ...wake,
    counts: { ...wake.counts, skipped: wake.counts.skipped + skipped },
  }));
}

/** Wakes are few and wait one at a time, so a full queue does not refuse them. */
function enqueue(state: SessionState, wake: Wake, due: Fire): SessionState {
  const item = toItem({ kind: 'wake', key: `${wake.id}:${due.dueMs}` }, promptOf(wake, due), wake.channel);
  const { id } = item.message;
  const known = remember(state, { id, contentHash: item.contentHash, fate: 'pending', turnId: null });
  return { ...known, queue: [...known.queue, item] };
}

function send(state: SessionState, wake: Wake, due: Fire, lateMs: number): Change {
  const target = wake.target as Extract<Wake['target'], { kind: 'new' }>;
  const key = `${wake.id}:${due.dueMs}`;
  const sessionId = toSessionId(state.sessionId, target.name, due.dueMs);
  const route = wake.channel === null ? {} : { channel: wake.channel };
  const message = { id: key, parts: promptOf(wake, due), ...route };
  const input = { sessionId, agent: target.agent ?? state.agent, message };
  return {
    state: { ...state, starting: [...state.starting, { key, sessionId, lateMs }] },
    effects: [{ kind: 'startSession', key, input }],
  };
}

/** Tells the model why it runs, what was intended, and how to end it. What the wake asks for is the last part. */
function promptOf(wake: Wake, { text }: Fire): (Wake['prompt'] & Part)[] {
  const { id, key, createdBy, schedule, prompt } = wake;
  const { rank, name } = createdBy;
  const what = `wake ${id}${key === null ? '' : ` with the key "${key}"`}`;
  const creator = rank === name ? rank : `${rank} ${name}`;
  const ending = schedule.kind === 'once' ? 'once' : `${inWords(schedule)}; to end it, cancel wake "${id}"`;
  return [{ kind: 'text', text: `[${what}, set by ${creator}, due ${text}, ${ending}]` }, prompt];
}

export function onSessionStarted(state: SessionState, key: string, problem: string | null): SessionState {
  const start = state.starting.find((each) => each.key === key);
  if (!start) return state;
  const arrived = { ...state, starting: state.starting.filter((each) => each !== start) };
  if (arrived.closed) return arrived;
  const { sessionId, lateMs } = start;
  const { id: wakeId, dueMs } = occurrenceOf(key);
  if (problem !== null) {
    const told = say(arrived, { kind: 'WakeSkipped', wakeId, dueMs, lateMs, reason: 'not_started' });
    return countFailures(told, wakeId, (failures) => failures + 1);
  }
  const skipped = arrived.wakes.find(({ id }) => id === wakeId)?.counts.skipped ?? 0;
  const told = say(arrived, { kind: 'WakeFired', wakeId, dueMs, lateMs, skipped, sessionId });
  return countFailures(told, wakeId, () => 0);
}

/** Asks for the due times that wakes have used up; of each wake once at a time. */
export function refill(state: SessionState, moment: Moment): Change {
  if (moment.rollOverDue) return unchanged(state);
  const wanting = state.wakes.filter(({ id, needsFires }) => needsFires && !isComputing(state, id));
  return wanting.reduce((change, wake) => andThen(change, (sofar) => ask(sofar, wake, moment)), unchanged(state));
}

function isComputing({ computing }: SessionState, wakeId: string): boolean {
  return computing.some((request) => request.id === wakeId);
}

function ask(state: SessionState, wake: Wake, moment: Moment): Change {
  const { id, revision, schedule, zone, lastDueMs } = wake;
  const passedMs = moment.nowMs - spreadMs(state, wake);
  const afterMs = Math.max(lastDueMs ?? passedMs, passedMs);
  const request: FireRequest = { id, afterMs, kind: 'refill', wakeId: id, revision };
  const asked = changeWake(state, id, (found) => ({ ...found, needsFires: false }));
  const missed = lastDueMs === null ? {} : { missedSinceMs: lastDueMs };
  return {
    state: { ...asked, computing: [...asked.computing, request] },
    effects: [{ kind: 'computeFires', id, input: { schedule, zone, afterMs, count: FIRES_AHEAD, ...missed } }],
  };
}

/** Due times of a wake that has fired. A time that is not after the one asked about would fire again and again: it disables the wake. */
export function onRefilled(
  state: SessionState,
  request: FireRequest & { kind: 'refill' },
  result: ComputedFires,
): SessionState {
  const wake = state.wakes.find(({ id }) => id === request.wakeId);
  if (!wake || wake.revision !== request.revision || wake.disabled !== null) return state;
  if (result.kind === 'error') return disable(state, wake.id, result.problem);
  const counted = sayMissed(state, request, result.missed);
  const problem = problemOf(result.fires, request.afterMs);
  if (problem !== null) return disable(counted, wake.id, problem);
  return changeWake(counted, wake.id, (found) => ({ ...found, fires: later(result.fires, found.lastDueMs) }));
}

/** Due times at which nobody was there, between the one that was taken up late and now. */
function sayMissed(
  state: SessionState,
  { wakeId, afterMs }: FireRequest & { kind: 'refill' },
  count: number,
): SessionState {
  if (count === 0) return state;
  // Only a wake that has been due before has missed anything.
  const dueMs = state.wakes.find(({ id }) => id === wakeId)!.lastDueMs!;
  const what = { wakeId, dueMs, lateMs: afterMs - dueMs, count, lastDueMs: afterMs };
  return say(countSkipped(state, wakeId, count), { kind: 'WakeSkipped', ...what, reason: 'missed' });
}

export function problemOf(fires: readonly Fire[], afterMs: number): string | null {
  if (fires.length === 0) return 'it has no due time within the next ten years';
  const isRising = fires.every(({ dueMs }, n) => dueMs > (fires[n - 1]?.dueMs ?? afterMs));
  return isRising ? null : `its next due time would not be after ${new Date(afterMs).toISOString()}`;
}

/** Those that are not over by now. */
export function later(fires: readonly Fire[], lastDueMs: number | null): Fire[] {
  return fires.filter(({ dueMs }) => lastDueMs === null || dueMs > lastDueMs);
}
