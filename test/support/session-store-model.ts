import type { AppendItem, CallModelInput, CallModelResult, RecordInput, TurnOutcome } from '../../protocol/calls.js';
import type { ItemRecord } from '../../protocol/fates.js';
import { type NewOutput, toReceived } from '../../protocol/outputs.js';

/** What the store refuses, by the type of failure that the activity makes of it. */
export class RefusedByStore extends Error {
  constructor(readonly type: 'StaleTry' | 'TranscriptMissing' | 'SessionDraining') {
    super(type);
  }
}

type Completed = Exclude<CallModelResult, { kind: 'repeated' }>;
type AppendedMessage = Extract<AppendItem, { kind: 'message' }>;

export type Begun =
  | { kind: 'begun'; base: string | null; taken: string[]; repeats: ItemRecord[] }
  | { kind: 'finished'; result: Completed }
  | { kind: 'repeated'; first: ItemRecord };

interface StoredCall {
  turnId: string;
  inputs: string;
  newest: [dispatch: number, attempt: number];
  base: string | null;
  taken: string[];
  closed: boolean;
  result: Completed | null;
}

/** The rules of the session store that the core relies on, without a database: dedupe, fence, one outcome a turn, one output a key. */
export class StoreModel {
  readonly items = new Map<string, ItemRecord>();
  readonly outcomes = new Map<string, TurnOutcome>();
  readonly journal = new Map<string, NewOutput>();
  readonly #calls = new Map<string, StoredCall>();
  readonly #drains = new Map<string, NonNullable<RecordInput['drain']>>();
  readonly #entries = new Map<string, { base: string | null; messageIds: string[] }>();
  #chain: string | null = null;
  #chainBase: string | null = null;
  #head: string | null = null;

  begin(input: CallModelInput, attempt: number): Begun {
    const known = this.#calls.get(input.callId);
    const inputs = JSON.stringify([input.head, input.append]);
    if (known && known.inputs !== inputs) throw new RefusedByStore('TranscriptMissing');
    if (known?.result) return { kind: 'finished', result: known.result };
    this.#requireNewest(input, attempt, known);
    this.#requireNotDraining(input, attempt, known);
    if (input.head !== null && !this.#entries.has(input.head)) throw new RefusedByStore('TranscriptMissing');
    const { repeats, opener } = this.#claims(input);
    const first = opener === null ? undefined : repeats.get(opener);
    if (first && !this.#hasOtherCall(input)) {
      this.#write([repeatOutput(input, opener!, first)]);
      return { kind: 'repeated', first };
    }
    return this.#open(input, attempt, repeats);
  }

  /** One transaction: the answer, and, when it ends the turn, how it ended. */
  finish(callId: string, result: Completed, settles: RecordInput | null): void {
    const call = this.#calls.get(callId)!;
    this.#entries.set(result.head, { base: call.base, messageIds: call.taken });
    this.#head = result.head;
    call.result = result;
    call.closed = true;
    if (settles) this.record(settles);
  }

  record({ outputs, outcomes, items, chain, drain }: RecordInput): void {
    if (drain && drain.change > (this.#drains.get(chain)?.change ?? 0)) this.#drains.set(chain, drain);
    for (const { itemId, fate, turnId, contentHash } of items) {
      const known = this.items.get(itemId);
      const ended = known && known.fate !== 'pending' ? known.fate : fate;
      this.items.set(itemId, { itemId, fate: ended, turnId: known?.turnId ?? turnId, contentHash });
    }
    this.#write(outputs);
    for (const outcome of outcomes) {
      if (this.outcomes.has(outcome.turnId)) continue;
      this.outcomes.set(outcome.turnId, outcome);
      this.#write([turnEnded(outcome)]);
      for (const call of this.#calls.values()) if (call.turnId === outcome.turnId) call.closed = true;
    }
  }

  /** Ids of the messages in the transcript that a head names, newest step first. */
  messagesAt(head: string | null): string[] {
    const ids: string[] = [];
    for (let at = head; at !== null; at = this.#entries.get(at)!.base) ids.push(...this.#entries.get(at)!.messageIds);
    return ids;
  }

  #requireNewest({ turnId, dispatch }: CallModelInput, attempt: number, known: StoredCall | undefined): void {
    if (known?.closed || (!known && this.outcomes.has(turnId))) throw new RefusedByStore('StaleTry');
    const [newestDispatch, newestAttempt] = known?.newest ?? [0, 0];
    if ((dispatch - newestDispatch || attempt - newestAttempt) < 0) throw new RefusedByStore('StaleTry');
  }

  #requireNotDraining({ chain, dispatch }: CallModelInput, attempt: number, known: StoredCall | undefined): void {
    const isAnother = known && (known.newest[0] !== dispatch || known.newest[1] !== attempt);
    if (isAnother && this.#drains.get(chain)?.isDraining) throw new RefusedByStore('SessionDraining');
  }

  #hasOtherCall({ turnId, callId }: CallModelInput): boolean {
    return [...this.#calls].some(([id, call]) => call.turnId === turnId && id !== callId);
  }

  /** A message belongs to the turn that took it in first; met in any other, it is a repeat. */
  #claims(input: CallModelInput): { repeats: Map<number, ItemRecord>; opener: number | null } {
    const repeats = new Map<number, ItemRecord>();
    let opener: number | null = null;
    input.append.forEach((item, place) => {
      if (item.kind !== 'message') return;
      const owner = item.turnId ?? input.turnId;
      if (owner === input.turnId) opener ??= place;
      const known = this.items.get(item.messageId);
      const isFree = !known || (known.turnId === null && known.fate === 'pending');
      if (!isFree && known.turnId !== owner) repeats.set(place, known);
    });
    return { repeats, opener };
  }

  #open(input: CallModelInput, attempt: number, repeats: Map<number, ItemRecord>): Begun {
    const messages = input.append.filter(
      (item, place): item is AppendedMessage => item.kind === 'message' && !repeats.has(place),
    );
    for (const { messageId, turnId, contentHash } of messages) {
      if (this.items.get(messageId)?.turnId) continue;
      this.items.set(messageId, { itemId: messageId, fate: 'pending', turnId: turnId ?? input.turnId, contentHash });
    }
    const base = input.head ?? this.#enterChain(input.chain);
    for (const item of input.append) {
      const stopped = item.kind === 'interruptedCall' ? this.#calls.get(item.callId) : undefined;
      if (stopped) stopped.closed = true;
    }
    const taken = messages.map((item) => item.messageId);
    this.#write([...input.outputs, ...[...repeats].map(([place, first]) => repeatOutput(input, place, first))]);
    const { turnId, callId, dispatch } = input;
    const inputs = JSON.stringify([input.head, input.append]);
    this.#calls.set(callId, { turnId, inputs, newest: [dispatch, attempt], base, taken, closed: false, result: null });
    return { kind: 'begun', base, taken, repeats: [...repeats.values()] };
  }

  /** A chain without a head of its own goes on from where the store stood when it began. */
  #enterChain(chain: string): string | null {
    if (this.#chain !== chain) this.#chainBase = this.#head;
    this.#chain = chain;
    return this.#chainBase;
  }

  #write(outputs: readonly NewOutput[]): void {
    for (const output of outputs) if (!this.journal.has(output.key)) this.journal.set(output.key, output);
  }
}

function turnEnded({ turnId, outcome, reason, usage, source, silent }: TurnOutcome): NewOutput {
  return {
    kind: 'TurnEnded',
    key: `${turnId}/ended`,
    turnId,
    outcome,
    reason,
    text: '',
    partial: null,
    usage,
    source,
    silent,
  };
}

function repeatOutput({ callId }: CallModelInput, place: number, { itemId, fate, turnId }: ItemRecord): NewOutput {
  const disposition = { kind: 'duplicate' as const, fate, turnId, contentDiffers: false };
  return { ...toReceived(itemId, disposition), key: `${callId}/repeat.${place}` };
}
