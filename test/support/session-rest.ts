import { brokenOver } from '../../workflows/session/invariants.js';
import { messageIds } from './session-builders.js';
import { count, type SimulatedSession } from './session-simulation.js';

/** What is wrong with a session that has come to its end; nothing, if nothing was lost or doubled on the way. */
export function problemsAtRest(session: SimulatedSession): string[] {
  return [
    ...brokenOver(session.trace).map((sentence) => `over its life it does not hold that ${sentence}`),
    ...leftovers(session),
    ...problemsOfItems(session),
    ...problemsOfTurns(session),
  ];
}

function leftovers({ state }: SimulatedSession): string[] {
  const {
    turn,
    suspended,
    queue,
    outbox,
    recording,
    unrecorded,
    timerAtMs,
    wakes,
    computing,
    starting,
    deliveries,
    undelivered,
  } = state;
  // Nothing follows that could take over what the last turn of a closed session left.
  const carried = state.closed ? [] : state.carried;
  const ofWakes = { wakes, computing, starting, deliveries, undelivered };
  const places = { turn, suspended, recording, timerAtMs, queue, outbox, carried, ...unrecorded, ...ofWakes };
  return Object.entries(places).flatMap(([place, held]) =>
    held === null || (Array.isArray(held) && held.length === 0) ? [] : [`${place} still holds ${JSON.stringify(held)}`],
  );
}

/** Each acceptance ends once and is told at once where it went; one that joined a turn later was told then. The message is in the transcript once, unless it was left out for a reason. */
function problemsOfItems({ state, store, accepted, ended, leftOut }: SimulatedSession): string[] {
  const places = toldPlaces(store);
  const joins = toldJoins(store);
  const transcript = new Map<string, number>();
  // What a turn had taken in when its session was closed has no later call to enter the transcript with.
  const cutOff = new Set(state.closed ? messageIds(state.carried) : []);
  for (const id of store.messagesAt(state.head)) count(transcript, id);
  return [...accepted].flatMap(([id, times]) => {
    const [endings, told, held] = [ended, places, transcript].map((counts) => counts.get(id) ?? 0) as [
      number,
      number,
      number,
    ];
    const fate = store.items.get(id)?.fate ?? 'pending';
    return [
      ...(endings === times ? [] : [`message ${id} was accepted ${times} times and ended ${endings} times`]),
      ...(fate !== 'pending' ? [] : [`the store does not know what became of message ${id}`]),
      ...((told > 0 || fate === 'refused') && told <= times
        ? []
        : [`message ${id} was accepted ${times} times and told ${told} times where it went`]),
      ...(fate !== 'steered' || joins.has(id) ? [] : [`message ${id} joined a turn and was not told so`]),
      ...(held === 1 || (held === 0 && (leftOut.has(id) || cutOff.has(id) || NEVER_RAN.has(fate)))
        ? []
        : [`message ${id} is ${held} times in the transcript`]),
    ];
  });
}

/** A repeat of an item that never ran ends as that one did. */
const NEVER_RAN = new Set(['withdrawn', 'refused']);

function toldPlaces(store: SimulatedSession['store']): Map<string, number> {
  const places = new Map<string, number>();
  for (const output of store.journal.values()) {
    if (output.kind === 'WakeDeferred' || output.kind === 'WakeFired') {
      places.set(`wake:${output.wakeId}:${output.dueMs}`, 1);
    } else if (output.kind === 'ReminderReceived' || output.kind === 'MessageReceived') {
      const id = output.kind === 'MessageReceived' ? output.messageId : `reminder:${output.reminderId}:${output.dueMs}`;
      if (['started', 'queued'].includes(output.disposition.kind)) count(places, id);
    }
  }
  return places;
}

function toldJoins(store: SimulatedSession['store']): Set<string> {
  const told = [...store.journal.values()];
  return new Set(
    told.flatMap((output) =>
      output.kind === 'MessageReceived' && output.disposition.kind === 'steered' ? [output.messageId] : [],
    ),
  );
}

/** A turn that was told of has an outcome, and the other way round; the session and the store agree on it where they can. */
function problemsOfTurns({ store, believed, unreported }: SimulatedSession): string[] {
  const outputs = [...store.journal.values()];
  const started = new Set(outputs.flatMap((output) => (output.kind === 'TurnStarted' ? [output.turnId] : [])));
  return [
    ...[...started].filter((id) => !store.outcomes.has(id)).map((id) => `turn ${id} has no outcome`),
    ...[...store.outcomes.keys()].filter((id) => !started.has(id)).map((id) => `nobody was told that turn ${id} began`),
    ...[...believed]
      .filter(([id, outcome]) => store.outcomes.get(id)?.outcome !== outcome && !unreported.has(id))
      .map(([id, outcome]) => `turn ${id} ended as ${outcome}, but the store has ${store.outcomes.get(id)?.outcome}`),
    ...[...store.outcomes.keys()].filter((id) => !believed.has(id)).map((id) => `the session never ended turn ${id}`),
  ];
}
