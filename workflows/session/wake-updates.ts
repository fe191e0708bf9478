import { occurrenceOf, sourceOf } from '../../protocol/fates.js';
import { LIMITS } from '../../protocol/limits.js';
import type { CancelWakeAnswer, ComputedFires, WakeActor, WakeAnswer } from '../../protocol/wakes.js';
import { endStreak } from './contact.js';
import { unchanged, type Change } from './effects.js';
import type { Moment, SessionEvent } from './events.js';
import { FIRES_AHEAD, later, onRefilled, problemOf } from './fires.js';
import { occurrenceKeys } from './occurrences.js';
import { notice, say } from './outbox.js';
import { readActor, readFields, readName, readTerms, type GivenTerms, type Reading } from './parse-wake.js';
import { setFate, toRecords } from './seen-items.js';
import type { FireRequest, SessionState, Wake, WakeDraft } from './state.js';
import { stop } from './stop.js';
import { changeWake, findWake, inWords, pendingOf, removeWake, sayCoalesced, toWakeView } from './wakes.js';

/**
 * What people and the agent ask of wakes. Every request is answered, once: a wake is only made when its due times are known, so the
 * answers of `scheduleWake` and `editWake` come with an event of their own.
 */

type Request<Kind extends SessionEvent['kind']> = Extract<SessionEvent, { kind: Kind }>;

function answered(state: SessionState, requestId: string, answer: WakeAnswer | CancelWakeAnswer): Change {
  return { state, effects: [{ kind: 'answer', requestId, answer }] };
}

export function onScheduleRequested(
  state: SessionState,
  { requestId, input }: Request<'wakeScheduleRequested'>,
  moment: Moment,
): Change {
  const reading = readFields(input);
  const given = readTerms(reading, state.sessionId, moment.nowMs);
  const key = reading.fields['key'] === undefined ? null : readName(reading, 'key');
  const by = readActor(reading);
  requireWhole(reading, given);
  const { problems } = reading;
  if (problems.length > 0) return answered(state, requestId, { kind: 'refused', problems });
  const settings = { ...DEFAULT_SETTINGS, ...inherited(state, by), ...given };
  return propose(state, requestId, { wakeId: null, key, settings, by, askedAtMs: moment.nowMs });
}

/** What an agent sets in motion reports to where the turn does that it is in. */
function inherited({ turn }: SessionState, { rank }: Required<WakeActor>): { channel?: string } {
  return rank === 'agent' && turn?.channel !== undefined ? { channel: turn.channel } : {};
}

function requireWhole({ problems }: Reading, { schedule, prompt }: GivenTerms): void {
  if (!schedule) problems.push('a wake needs a "schedule"');
  if (!prompt) problems.push('a wake needs a "prompt"');
}

const DEFAULT_SETTINGS: WakeDraft['settings'] = {
  schedule: { kind: 'once', atMs: 0 },
  prompt: { kind: 'text', text: '' },
  zone: null,
  expiresAtMs: null,
  missed: 'fire_once',
  maxLatenessMs: null,
  jitterMs: 0,
  target: { kind: 'this' },
  skipWhenActiveMs: null,
  channel: null,
};

export function onEditRequested(
  state: SessionState,
  { requestId, input }: Request<'wakeEditRequested'>,
  moment: Moment,
): Change {
  const reading = readFields(input);
  const name = readName(reading, 'wake');
  const given = readTerms(reading, state.sessionId, moment.nowMs);
  const by = readActor(reading);
  const { problems } = reading;
  if (problems.length > 0) return answered(state, requestId, { kind: 'refused', problems });
  const wake = findWake(state, name);
  if (!wake) return answered(state, requestId, notFound(state));
  const settings = { ...settingsOf(wake), ...given };
  return propose(state, requestId, { wakeId: wake.id, key: wake.key, settings, by, askedAtMs: moment.nowMs });
}

function settingsOf(wake: Wake): WakeDraft['settings'] {
  const { schedule, zone, prompt, expiresAtMs, missed, maxLatenessMs, jitterMs, target, skipWhenActiveMs, channel } =
    wake;
  return { schedule, zone, prompt, expiresAtMs, missed, maxLatenessMs, jitterMs, target, skipWhenActiveMs, channel };
}

/** Its due times first: only the worker knows zones. */
function propose(state: SessionState, requestId: string, draft: WakeDraft): Change {
  const { schedule, zone, channel } = draft.settings;
  const route = channel === null ? {} : { channel };
  const afterMs = Math.max(draft.askedAtMs, replacedBy(state, draft)?.lastDueMs ?? draft.askedAtMs);
  const request: FireRequest = { id: requestId, afterMs, kind: 'draft', draft };
  return {
    state: { ...state, computing: [...state.computing, request] },
    effects: [
      { kind: 'computeFires', id: requestId, input: { schedule, zone, afterMs, count: FIRES_AHEAD, ...route } },
    ],
  };
}

/** The wake that the draft takes the place of. */
function replacedBy(state: SessionState, { wakeId, key }: WakeDraft): Wake | undefined {
  if (wakeId !== null) return state.wakes.find(({ id }) => id === wakeId);
  return key === null ? undefined : state.wakes.find((wake) => wake.key === key);
}

/** What was asked for is known; of a request that is not waited for any more nothing changes. */
export function onFiresComputed(state: SessionState, id: string, result: ComputedFires): Change {
  const request = state.computing.find((each) => each.id === id);
  if (!request) return unchanged(state);
  const arrived = { ...state, computing: state.computing.filter((each) => each !== request) };
  return request.kind === 'refill' ? unchanged(onRefilled(arrived, request, result)) : decide(arrived, request, result);
}

function decide(state: SessionState, request: FireRequest & { kind: 'draft' }, result: ComputedFires): Change {
  const { id: requestId, draft } = request;
  const replaced = replacedBy(state, draft);
  if (draft.wakeId !== null && !replaced) return answered(state, requestId, notFound(state));
  if (result.kind === 'error') return answered(state, requestId, { kind: 'refused', problems: [result.problem] });
  const problem = problemOfDraft(state, request, result) ?? (replaced ? null : problemOfMore(state));
  if (problem !== null) return answered(state, requestId, { kind: 'refused', problems: [problem] });
  const wake = toWake(state, draft, replaced, result);
  const heard = draft.by.rank === 'person' ? endStreak(state) : state;
  const kept = replaced ? changeWake(heard, wake.id, () => wake) : add(heard, wake);
  const restored = { ...kept, removedKeys: kept.removedKeys.filter(({ key }) => key !== wake.key) };
  const { id: wakeId, key: wakeKey, zone, fires } = wake;
  const what = { wakeId, wakeKey, schedule: inWords(wake.schedule), zone, fires, replaced: replaced !== undefined };
  const told = say(restored, { kind: 'WakeScheduled', ...what });
  return answered(told, requestId, { kind: 'scheduled', wake: toWakeView(told, wake), replaced: what.replaced });
}

function add(state: SessionState, wake: Wake): SessionState {
  return { ...state, wakes: [...state.wakes, wake], wakeCount: state.wakeCount + 1 };
}

function problemOfDraft(
  { closed, removedKeys }: SessionState,
  { draft: { key, by, settings }, afterMs }: FireRequest & { kind: 'draft' },
  { fires }: ComputedFires & { kind: 'computed' },
): string | null {
  if (closed) return 'the session is closed';
  const removed = removedKeys.find((each) => each.key === key);
  if (removed && by.rank === 'agent' && removed.rank === 'person') {
    return `a person removed the wake with the key "${removed.key}", so only a person can schedule it again`;
  }
  const { expiresAtMs } = settings;
  const isOver = expiresAtMs !== null && fires[0] !== undefined && fires[0].dueMs >= expiresAtMs;
  return isOver ? 'it would expire before it is due: give a later "expiresAtMs"' : problemOf(fires, afterMs);
}

function problemOfMore({ wakes }: SessionState): string | null {
  if (wakes.length < LIMITS.wakesPerSession) return null;
  return `the session has ${wakes.length} wakes, which is the limit: cancel one, or replace one by its key`;
}

/** A wake that takes the place of another keeps its id and what it has behind it, so that no due time comes twice. */
function toWake(
  state: SessionState,
  { wakeId, key, settings, by, askedAtMs }: WakeDraft,
  replaced: Wake | undefined,
  { zone, fires }: ComputedFires & { kind: 'computed' },
): Wake {
  const before = replaced ?? {
    ...{ id: `${state.chain}-w${state.wakeCount + 1}`, key, createdAtMs: askedAtMs },
    ...{ revision: 0, lastDueMs: null, coalesced: null, counts: { fired: 0, skipped: 0, failures: 0 } },
  };
  const ahead = later(fires, before.lastDueMs);
  return {
    ...before,
    ...settings,
    zone,
    fires: ahead,
    revision: before.revision + 1,
    createdBy: replaced && wakeId !== null ? replaced.createdBy : by,
    needsFires: ahead.length === 0,
    disabled: null,
    paused: null,
    counts: { ...before.counts, failures: 0 },
  };
}

function notFound(state: SessionState): { kind: 'not_found'; existing: string[] } {
  const ids = [...state.wakes.map(({ id }) => id), ...occurrenceKeys(state).map((key) => occurrenceOf(key).id)];
  return { kind: 'not_found', existing: [...new Set(ids)] };
}

/** Answers for the future, the waiting and the running occurrence alike. */
export function onCancelRequested(
  state: SessionState,
  { requestId, input }: Request<'wakeCancelRequested'>,
  moment: Moment,
): Change {
  const reading = readFields(input);
  const name = readName(reading, 'wake');
  const by = readActor(reading);
  const { problems, fields } = reading;
  if (problems.length > 0) return answered(state, requestId, { kind: 'refused', problems });
  const wakeId = findWake(state, name)?.id ?? (pendingOf(state, name) === null ? null : name);
  if (wakeId === null) return answered(state, requestId, notFound(state));
  const wantsStop = fields['stopRunning'] === true && by.rank === 'person';
  return cancel(state, { requestId, wakeId, by, wantsStop }, moment);
}

/** A cancel by signal, which Temporal kept while no worker ran: nobody waits for an answer, and a wake that is gone needs no word. */
export function onCancelKept(state: SessionState, input: unknown, moment: Moment): Change {
  const { state: next, effects } = onCancelRequested(
    state,
    { kind: 'wakeCancelRequested', requestId: '', input },
    moment,
  );
  const problems = effects.flatMap((effect) =>
    effect.kind === 'answer' && effect.answer.kind === 'refused' ? effect.answer.problems : [],
  );
  const told =
    problems.length === 0 ? next : notice(next, 'malformed_signal', `signal "cancelWake": ${problems.join('; ')}`);
  return { state: told, effects: effects.filter(({ kind }) => kind !== 'answer') };
}

interface Cancel {
  requestId: string;
  wakeId: string;
  by: Required<WakeActor>;
  wantsStop: boolean;
}

function cancel(state: SessionState, { requestId, wakeId, by, wantsStop }: Cancel, moment: Moment): Change {
  const wake = state.wakes.find(({ id }) => id === wakeId);
  const running = runningTurn(state, wakeId);
  const { state: removed, forgottenKey } = rememberKey(
    removeWake(sayCoalesced(state, wakeId), wakeId),
    wake?.key ?? null,
    by,
  );
  const { state: withdrawn, itemId } = withdraw(removed, wakeId);
  const stopped = running !== null && wantsStop;
  const { state: ended, effects } = stopped ? stop(withdrawn, running, moment) : unchanged(withdrawn);
  const what = { wakeId, running, stopped };
  const told = say(ended, { kind: 'WakeCancelled', ...what, by: by.name, withdrawn: itemId });
  const answer: CancelWakeAnswer = {
    ...{ kind: 'cancelled', ...what, future: (wake?.fires.length ?? 0) > 0, waiting: itemId !== null },
    ...(forgottenKey === null ? {} : { forgottenKey }),
  };
  return { state: told, effects: [...effects, { kind: 'answer', requestId, answer }] };
}

function runningTurn({ turn }: SessionState, wakeId: string): string | null {
  return turn?.source.kind === 'wake' && occurrenceOf(turn.source.key).id === wakeId ? turn.id : null;
}

/** Takes the wake's occurrence out of the queue. */
function withdraw(state: SessionState, wakeId: string): { state: SessionState; itemId: string | null } {
  const item = state.queue.find(({ message }) => isOfWake(message.id, wakeId));
  if (!item) return { state, itemId: null };
  const itemId = item.message.id;
  const fated = setFate({ ...state, queue: state.queue.filter((each) => each !== item) }, [itemId], 'withdrawn', null);
  const { outcomes, items } = fated.unrecorded;
  const unrecorded = { outcomes, items: [...items, ...toRecords(fated, [itemId])] };
  return { state: { ...fated, unrecorded }, itemId };
}

function isOfWake(itemId: string, wakeId: string): boolean {
  const source = sourceOf(itemId);
  return source.kind === 'wake' && occurrenceOf(source.key).id === wakeId;
}

interface Remembered {
  state: SessionState;
  forgottenKey: string | null;
}

/** Keeps who removed a key, so that nobody below them schedules it again. */
function rememberKey(state: SessionState, key: string | null, { rank }: Required<WakeActor>): Remembered {
  if (key === null) return { state, forgottenKey: null };
  const kept = [...state.removedKeys.filter((each) => each.key !== key), { key, rank }];
  const forgotten = kept.length > LIMITS.removedWakeKeys ? kept[0]! : null;
  const removedKeys = forgotten ? kept.slice(1) : kept;
  return { state: { ...state, removedKeys }, forgottenKey: forgotten?.key ?? null };
}
