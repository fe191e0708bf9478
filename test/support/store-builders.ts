import type { AppendItem, RecordInput, TryRef, TurnOutcome } from '../../protocol/calls.js';
import type { ItemRecord } from '../../protocol/fates.js';
import type { NewOutput, Output } from '../../protocol/outputs.js';
import type { Usage } from '../../protocol/usage.js';
import {
  assistantEntryId,
  type BeginTool,
  type BeginTry,
  type BegunTry,
  type Entry,
  type FinishTry,
  type SessionStore,
} from '../../store/session-store.js';

export const SESSION = 'acme/s1';

export const USAGE: Usage = {
  uncachedInputTokens: 10,
  cacheReadTokens: null,
  cacheWriteTokens: null,
  outputTokens: 3,
  reasoningTokens: null,
};

export function aMessage(messageId: string, text = `text of ${messageId}`): AppendItem {
  return { kind: 'message', messageId, parts: [{ kind: 'text', text }], contentHash: `hash of ${text}` };
}

/** A message of an earlier turn, which ended before an answer followed it. */
export function aCarriedMessage(messageId: string, turnId: string): AppendItem {
  return { ...aMessage(messageId), turnId } as AppendItem;
}

export function aBegin(over: Partial<BeginTry> = {}): BeginTry {
  const turnId = over.turnId ?? 't1';
  const callId = over.callId ?? `${turnId}/c1`;
  const dispatch = over.dispatch ?? 1;
  const attempt = over.attempt ?? 1;
  return {
    sessionId: SESSION,
    chain: 'chain-1',
    agent: 'coder',
    turnId,
    callId,
    dispatch,
    attempt,
    head: null,
    append: [aMessage('m1')],
    inputHash: 'inputs',
    outputs: [aTurnStarted(turnId)],
    workerInstance: 'worker-1',
    taskToken: `token of ${callId} ${dispatch}.${attempt}`,
    ...over,
  };
}

export function aTurnStarted(turnId: string): NewOutput {
  const source = { kind: 'message' as const, key: 'm1' };
  return { kind: 'TurnStarted', key: `${turnId}/started`, turnId, source, silent: false, why: 'message' };
}

export function aDelta(begin: TryRef & { turnId: string }, index: number, text = `delta ${index} `): NewOutput {
  return {
    kind: 'TextDelta',
    key: `${begin.callId}/${begin.dispatch}.${begin.attempt}/${index}`,
    ...ofTry(begin),
    text,
  };
}

export function aNotice(key: string, message = key): NewOutput {
  return { kind: 'Notice', key, code: 'model_busy', message, isCallBoundary: false };
}

export function aFinish(begin: BeginTry, base: string | null, text = `answer of ${begin.callId}`): FinishTry {
  const head = assistantEntryId(begin.callId);
  return {
    ...toRef(begin),
    turnId: begin.turnId,
    parentId: base,
    content: [{ kind: 'text', text }],
    model: 'test-model',
    usage: USAGE,
    outputs: [{ kind: 'TextOutput', key: `${begin.callId}/text`, ...ofTry(begin), text, isCallBoundary: true }],
    result: {
      kind: 'answered',
      outcome: 'completed',
      reason: null,
      endedAtMs: 2,
      head,
      usage: USAGE,
      model: 'test-model',
      attempt: begin.attempt,
      repeats: [],
    },
  };
}

/** The finish of a call that is its turn's last: it settles the turn. */
export function aSettlingFinish(begin: BeginTry, base: string | null, over: Partial<RecordInput> = {}): FinishTry {
  const { sessionId, chain, agent, turnId } = begin;
  const turn = { outcomes: [anOutcome(turnId)], items: [anItem('m1', { turnId })] };
  return { ...aFinish(begin, base), settles: aRecord({ sessionId, chain, agent, ...turn, ...over }) };
}

export function toRef({ sessionId, callId, dispatch, attempt }: TryRef): TryRef {
  return { sessionId, callId, dispatch, attempt };
}

function ofTry({ turnId, callId, dispatch, attempt }: TryRef & { turnId: string }) {
  return { turnId, callId, try: { dispatch, attempt } };
}

export function anOutcome(turnId: string, over: Partial<TurnOutcome> = {}): TurnOutcome {
  const source = { kind: 'message' as const, key: 'm1' };
  const base = { turnId, outcome: 'completed' as const, reason: null, source, silent: false, usage: USAGE };
  return { ...base, startedAtMs: 1_000, endedAtMs: 2_000, ...over };
}

export function aRecord(over: Partial<RecordInput> = {}): RecordInput {
  const nothing = { outputs: [], outcomes: [], items: [] };
  return { sessionId: SESSION, chain: 'chain-1', agent: 'coder', status: 'idle', queued: 0, ...nothing, ...over };
}

export function anItem(itemId: string, over: Partial<ItemRecord> = {}): ItemRecord {
  return { itemId, fate: 'answered', turnId: 't1', contentHash: `hash of text of ${itemId}`, ...over };
}

export function aTool(over: Partial<BeginTool> = {}): BeginTool {
  return {
    sessionId: SESSION,
    turnId: 't1',
    callId: 't1/c1',
    toolCallId: 't1/c1/tool0',
    name: 'send_mail',
    attempt: 1,
    idempotent: false,
    input: '{"to":"x"}',
    workerInstance: 'worker-1',
    taskToken: 'token of tool 1',
    ...over,
  };
}

/** Begins a try that must begin, and returns the head that its inputs end at. */
export async function begunBase(store: SessionStore, begin: BeginTry): Promise<string | null> {
  return requireBegun(await store.beginTry(begin)).base;
}

export function requireBegun(begun: BegunTry): Extract<BegunTry, { kind: 'begun' }> {
  if (begun.kind !== 'begun') throw new Error(`expected the try to begin, but it was ${begun.kind}`);
  return begun;
}

/** One call from begin to finish; returns the new head. */
export async function finishedCall(store: SessionStore, begin: BeginTry, text?: string): Promise<string> {
  const base = await begunBase(store, begin);
  await store.finishTry(aFinish(begin, base, text));
  return assistantEntryId(begin.callId);
}

/** A call that showed text and never ended. */
export async function streamingCall(store: SessionStore, begin: BeginTry): Promise<void> {
  await begunBase(store, begin);
  await store.appendTryOutputs(toRef(begin), [aDelta(begin, 0)]);
}

export async function journal(store: SessionStore, sessionId = SESSION): Promise<Output[]> {
  return store.readOutputs({ sessionId, afterSeq: 0, limit: 100_000 });
}

export async function journalKinds(store: SessionStore): Promise<string[]> {
  return (await journal(store)).map((output) => output.kind);
}

/** What a transcript says, one short word an entry. */
export function spoken(entries: Entry[]): string[] {
  return entries.map(({ content }) => {
    if (content.kind === 'user') return `user ${content.messageId}`;
    if (content.kind === 'tool') return `tool ${content.result.ok ? 'ok' : 'error'} ${content.result.output}`;
    return `assistant ${content.parts.map((part) => ('text' in part ? part.text : part.name)).join(' ')}`;
  });
}
