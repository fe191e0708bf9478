import { sql } from 'kysely';
import type { AppendItem } from '../protocol/calls.js';
import { transcriptMissing } from './chains.js';
import type { Claims } from './claims.js';
import { type Db, type EntriesTable, fromColumn, type Tx } from './schema.js';
import type { AssistantPart, BeginTry, Entry, EntryContent, ToolResult } from './session-store.js';
import { interruptedText, type ShownText } from './partials.js';
import { toolResults } from './tools.js';

/**
 * Adds a call's inputs as entries that follow `base`, and returns the newest.
 * Ids come from the call and the place in `append`: a later try finds the entries of the first one and changes nothing of them,
 * so every try of a call asks the same question.
 */
export async function appendInputs(
  tx: Tx,
  begin: BeginTry,
  base: string | null,
  { repeats }: Claims,
  nowMs: number,
): Promise<string | null> {
  const results = await toolResults(tx, begin.sessionId, toolCallIds(begin.append));
  const rows: EntriesTable[] = [];
  let tip = base;
  for (const [place, item] of begin.append.entries()) {
    if (repeats.has(place)) continue;
    const entryId = `${begin.callId}.in${place}`;
    const content = JSON.stringify(
      item.kind === 'interruptedCall'
        ? interrupted(await interruptedText(tx, begin.sessionId, item.callId, nowMs))
        : toContent(item, results),
    );
    rows.push({ session_id: begin.sessionId, entry_id: entryId, parent_id: tip, content });
    tip = entryId;
  }
  await addEntries(tx, rows);
  return tip;
}

export async function addEntries(tx: Tx, rows: EntriesTable[]): Promise<void> {
  if (rows.length === 0) return;
  await tx
    .insertInto('entries')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

function toolCallIds(append: readonly AppendItem[]): string[] {
  return append.flatMap((item) => (item.kind === 'toolResult' ? [item.toolCallId] : []));
}

function interrupted({ text, isWhole }: ShownText): EntryContent {
  const parts: AssistantPart[] = text === '' ? [] : [{ kind: 'text', text }];
  return { kind: 'assistant', model: '', parts, ...(isWhole ? {} : { isInterrupted: true }) };
}

function toContent(
  item: Exclude<AppendItem, { kind: 'interruptedCall' }>,
  results: ReadonlyMap<string, ToolResult>,
): EntryContent {
  if (item.kind === 'message') return { kind: 'user', messageId: item.messageId, parts: item.parts };
  const result = results.get(item.toolCallId) ?? missingResult(item);
  return { kind: 'tool', toolCallId: item.toolCallId, name: item.name, result };
}

/** P5: a tool whose outcome is unknown is reported as unknown; the model decides what to do about it. */
function missingResult({ lost, neverRan }: Extract<AppendItem, { kind: 'toolResult' }>): ToolResult {
  if (neverRan) return { ok: false, output: `This call never ran and had no effect (${lost}).` };
  const why = lost ?? 'its result was never recorded';
  return { ok: false, output: `The outcome of this call is unknown (${why}). Do not repeat it without checking.` };
}

export async function transcript(db: Db, sessionId: string, head: string | null): Promise<Entry[]> {
  if (head === null) return [];
  const rows = await chainFrom(db, sessionId, head);
  if (rows[0]?.parent_id !== null) throw transcriptMissing(sessionId, head);
  return rows.map(toEntry);
}

export async function findEntry(db: Db, sessionId: string, entryId: string): Promise<Entry | null> {
  const row = await db
    .selectFrom('entries')
    .select(['entry_id', 'parent_id', 'content'])
    .where('session_id', '=', sessionId)
    .where('entry_id', '=', entryId)
    .executeTakeFirst();
  return row ? toEntry(row) : null;
}

function toEntry(row: Omit<EntriesTable, 'session_id'>): Entry {
  return { id: row.entry_id, parentId: row.parent_id, content: fromColumn<EntryContent>(row.content) };
}

/** Oldest first; the first one has a parent only if that is missing. */
function chainFrom(db: Db, sessionId: string, head: string) {
  return db
    .withRecursive('chain', (query) =>
      query
        .selectFrom('entries')
        .select(['entry_id', 'parent_id', 'content', sql<number>`0`.as('depth')])
        .where('session_id', '=', sessionId)
        .where('entry_id', '=', head)
        .unionAll(
          query
            .selectFrom('chain')
            .innerJoin('entries', 'entries.entry_id', 'chain.parent_id')
            .select(['entries.entry_id', 'entries.parent_id', 'entries.content', sql<number>`depth + 1`.as('depth')])
            .where('entries.session_id', '=', sessionId),
        ),
    )
    .selectFrom('chain')
    .select(['entry_id', 'parent_id', 'content'])
    .orderBy('depth', 'desc')
    .execute();
}
