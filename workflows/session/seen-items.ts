import type { ItemRecord } from '../../protocol/fates.js';
import { LIMITS } from '../../protocol/limits.js';
import type { SeenItem, SessionState } from './state.js';

/**
 * The ring of remembered item ids. A pending item is never forgotten here; an ended one is, once it is old, because the store
 * remembers it too.
 */
export function findSeen(state: SessionState, id: string): SeenItem | undefined {
  return state.seen.find((item) => item.id === id);
}

export function remember(state: SessionState, item: SeenItem): SessionState {
  const seen = [...state.seen, item];
  const surplus = seen.length - LIMITS.rememberedItems;
  if (surplus <= 0) return { ...state, seen };
  let dropped = 0;
  return { ...state, seen: seen.filter((old) => old.fate === 'pending' || ++dropped > surplus) };
}

/** Settles what became of items. */
export function setFate(
  state: SessionState,
  ids: string[],
  fate: ItemRecord['fate'],
  turnId: string | null,
): SessionState {
  const isMeant = new Set(ids);
  return { ...state, seen: state.seen.map((item) => (isMeant.has(item.id) ? { ...item, fate, turnId } : item)) };
}

/** What the store is told of items. */
export function toRecords(state: SessionState, ids: string[]): ItemRecord[] {
  return state.seen
    .filter((item) => ids.includes(item.id))
    .map(({ id, fate, turnId, contentHash }) => ({ itemId: id, fate, turnId, contentHash }));
}

/**
 * Takes over what the store knew of items that this session had forgotten. One whose end the store has not been told yet is forgotten
 * again: the next repeat asks the store, which knows by then.
 */
export function learnRepeats(state: SessionState, repeats: ItemRecord[]): SessionState {
  const known = new Map(repeats.map((item) => [item.itemId, item]));
  const seen = state.seen.flatMap((item): SeenItem[] => {
    const first = known.get(item.id);
    if (!first) return [item];
    const { fate, turnId, contentHash } = first;
    return fate === 'pending' ? [] : [{ ...item, fate, turnId, contentHash }];
  });
  return { ...state, seen };
}
