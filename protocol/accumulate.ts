import type { OutcomeKind, TurnSource } from './fates.js';
import type { Stall } from './liveness.js';
import { withDefaults, type Output, type TryNumber } from './outputs.js';
import type { Discards, Usage } from './usage.js';

/** What a person sees of a session, as far as its outputs were read. */
export interface Transcript {
  /** `seq` of the newest output taken in. */
  seq: number;
  turns: TurnTranscript[];
  /** Kinds that this reader does not know, with how often each was met: a newer writer's, skipped but not hidden. */
  unknownKinds: Record<string, number>;
}

export interface TurnTranscript {
  turnId: string;
  source: TurnSource | null;
  isSilent: boolean;
  items: TurnItem[];
  ended: TurnEnd | null;
}

export interface TurnEnd extends Partial<Discards> {
  outcome: OutcomeKind;
  reason: string | null;
  text: string;
  partial: string | null;
  usage: Usage;
  stall?: Stall;
}

export type TurnItem =
  /** Text of one model call; `isFinal` once the call is completed, `isPartial` when its turn was stopped before that. */
  | { kind: 'text'; callId: string; try: TryNumber; text: string; isFinal: boolean; isPartial?: true }
  | { kind: 'tool'; toolCallId: string; name: string; input: string; result: { ok: boolean; text: string } | null }
  | { kind: 'notice'; code: string; message: string };

export const EMPTY_TRANSCRIPT: Transcript = { seq: 0, turns: [], unknownKinds: {} };

/**
 * Takes outputs, in the order of their `seq`, into what a person sees. The only place that joins streamed text.
 *
 * I1 A call has at most one text item; a delta of another try than the one it holds starts it anew.
 * I2 A discard removes the text of its try and touches no other call.
 * I3 `TextOutput` is the call's text whatever deltas came before; nothing else makes a text final.
 * I4 Text without an end does not outlive its turn, except what `TurnEnded` names as the partial text of a stopped turn.
 * I5 An output at or below the newest `seq` changes nothing.
 * I6 The texts of an ended turn read as its `TurnEnded` says, whatever a late or filtering reader has missed.
 */
export function accumulate(transcript: Transcript, outputs: readonly Output[]): Transcript {
  return outputs.reduce((taken, output) => take(taken, withDefaults(output)), transcript);
}

/** A turn's answer: the texts of its completed calls with a blank line between them. */
export function answerText({ items }: Pick<TurnTranscript, 'items'>): string {
  return items.flatMap((item) => (item.kind === 'text' && item.isFinal && item.text ? [item.text] : [])).join('\n\n');
}

function take(transcript: Transcript, output: Output): Transcript {
  if (output.seq <= transcript.seq) return transcript;
  const next = { ...transcript, seq: output.seq };
  switch (output.kind) {
    case 'TurnStarted':
      return inTurn(next, output.turnId, (turn) => ({ ...turn, source: output.source, isSilent: output.silent }));
    case 'TextDelta':
      return inTurn(next, output.turnId, (turn) => withItems(turn, addDelta(turn.items, output)));
    case 'TextStreamDiscarded':
      return inTurn(next, output.turnId, (turn) =>
        withItems(
          turn,
          turn.items.filter((item) => !isTextOf(item, output)),
        ),
      );
    case 'TextOutput':
      return inTurn(next, output.turnId, (turn) => withItems(turn, commit(turn.items, output)));
    case 'ToolStarted':
    case 'ToolFinished':
      return inTurn(next, output.turnId, (turn) => withItems(turn, takeTool(turn.items, output)));
    case 'Notice':
      return takeNotice(next, output);
    case 'TurnEnded':
      return inTurn(next, output.turnId, (turn) => end(turn, output));
    case 'MessageReceived':
    case 'ReminderReceived':
    case 'WakeScheduled':
    case 'WakeFired':
    case 'WakeDeferred':
    case 'WakeSkipped':
    case 'WakeCancelled':
    case 'WakeExpired':
    case 'WakeDisabled':
    case 'SessionClosed':
    case 'ReasoningDelta':
    case 'StallWarning':
    case 'Usage':
      return next;
    default:
      return countUnknown(next, output);
  }
}

function inTurn(transcript: Transcript, turnId: string, change: (turn: TurnTranscript) => TurnTranscript): Transcript {
  if (!transcript.turns.some((turn) => turn.turnId === turnId)) {
    const turn = change({ turnId, source: null, isSilent: false, items: [], ended: null });
    return { ...transcript, turns: [...transcript.turns, turn] };
  }
  return { ...transcript, turns: transcript.turns.map((turn) => (turn.turnId === turnId ? change(turn) : turn)) };
}

const withItems = (turn: TurnTranscript, items: TurnItem[]): TurnTranscript => ({ ...turn, items });

const isSameTry = (a: TryNumber, b: TryNumber) => a.dispatch === b.dispatch && a.attempt === b.attempt;

function isTextOf(item: TurnItem, { callId, try: tryNumber }: { callId: string; try: TryNumber }): boolean {
  return item.kind === 'text' && item.callId === callId && !item.isFinal && isSameTry(item.try, tryNumber);
}

type TextItem = Extract<TurnItem, { kind: 'text' }>;
type OfKind<Kind extends Output['kind']> = Extract<Output, { kind: Kind }>;

function addDelta(items: TurnItem[], delta: OfKind<'TextDelta'>): TurnItem[] {
  const { callId, try: tryNumber, text } = delta;
  const held = items.find((item) => item.kind === 'text' && item.callId === callId);
  if (held?.kind === 'text' && held.isFinal) return items;
  if (held?.kind === 'text' && isSameTry(held.try, tryNumber)) {
    return items.map((item) => (item === held ? { ...held, text: held.text + text } : item));
  }
  const fresh: TurnItem = { kind: 'text', callId, try: tryNumber, text, isFinal: false };
  return [...items.filter((item) => item !== held), fresh];
}

function commit(items: TurnItem[], { callId, try: tryNumber, text }: OfKind<'TextOutput'>): TurnItem[] {
  const final: TurnItem = { kind: 'text', callId, try: tryNumber, text, isFinal: true };
  const isOfCall = (item: TurnItem) => item.kind === 'text' && item.callId === callId;
  if (text === '') return items.filter((item) => !isOfCall(item));
  return items.some(isOfCall) ? items.map((item) => (isOfCall(item) ? final : item)) : [...items, final];
}

function takeTool(items: TurnItem[], output: OfKind<'ToolStarted'> | OfKind<'ToolFinished'>): TurnItem[] {
  const { toolCallId, name } = output;
  const isMeant = (item: TurnItem) => item.kind === 'tool' && item.toolCallId === toolCallId;
  const known = items.find(isMeant);
  const started: TurnItem & { kind: 'tool' } =
    known?.kind === 'tool' ? known : { kind: 'tool', toolCallId, name, input: '', result: null };
  const item: TurnItem =
    output.kind === 'ToolStarted'
      ? { ...started, input: output.input }
      : { ...started, result: { ok: output.ok, text: output.result } };
  return known ? items.map((other) => (isMeant(other) ? item : other)) : [...items, item];
}

function takeNotice(transcript: Transcript, { turnId, code, message }: OfKind<'Notice'>): Transcript {
  if (turnId === undefined) return transcript;
  return inTurn(transcript, turnId, (turn) => withItems(turn, [...turn.items, { kind: 'notice', code, message }]));
}

/** The outcome says what stands. */
function end(turn: TurnTranscript, output: OfKind<'TurnEnded'>): TurnTranscript {
  const { outcome, reason, text, partial, usage, stall } = output;
  const ended: TurnEnd = { outcome, reason, text, partial, usage, ...discardsOf(output), ...(stall ? { stall } : {}) };
  const last = turn.items.findLast((item): item is TextItem => item.kind === 'text' && !item.isFinal);
  const standing = complete(
    turn.items.filter((item) => item.kind !== 'text' || item.isFinal || (item === last && partial !== null)),
    output,
  );
  if (partial === null) return { ...turn, items: standing, ended };
  const kept: TurnItem = { ...(last ?? unseen(output)), text: partial, isPartial: true };
  return { ...turn, items: last ? standing.map((item) => (item === last ? kept : item)) : [...standing, kept], ended };
}

/** The fields are there only when something was discarded. */
export function discardsOf(told: Partial<Discards>): Partial<Discards> {
  const { discardedAttempts, discardedEstimatedInputTokens = null, discardedReceivedChars = 0 } = told;
  if (discardedAttempts === undefined) return {};
  return { discardedAttempts, discardedEstimatedInputTokens, discardedReceivedChars };
}

/** The texts seen, or the whole answer as one where some were missed. */
function complete(items: TurnItem[], output: OfKind<'TurnEnded'>): TurnItem[] {
  if (answerText({ items }) === output.text) return items;
  const whole: TurnItem = { ...unseen(output), text: output.text, isFinal: true };
  const others = items.filter((item) => item.kind !== 'text');
  return [...others, whole, ...items.filter((item) => item.kind === 'text' && !item.isFinal)];
}

/** A reader that came late, or left deltas out, learns of the text by its end. */
function unseen({ turnId }: OfKind<'TurnEnded'>): TextItem {
  return { kind: 'text', callId: turnId, try: { dispatch: 0, attempt: 0 }, text: '', isFinal: false };
}

function countUnknown(transcript: Transcript, output: never): Transcript {
  const kind = String((output as { kind?: unknown }).kind);
  const count = (transcript.unknownKinds[kind] ?? 0) + 1;
  return { ...transcript, unknownKinds: { ...transcript.unknownKinds, [kind]: count } };
}
