import type { LanguageModelV3FinishReason } from '@ai-sdk/provider';
import { endingOf, type FinishKind, judgeFinish, StreamBrokenError } from '../../activities/finish-table.js';

import type { AssistantPart } from '../../store/session-store.js';

const text: AssistantPart = { kind: 'text', text: 'hello' };
const spaces: AssistantPart = { kind: 'text', text: ' \n' };
const emptyText: AssistantPart = { kind: 'text', text: '' };
const reasoning: AssistantPart = { kind: 'reasoning', text: 'hm' };
const call: AssistantPart = { kind: 'toolCall', toolCallId: '', providerCallId: 'c', name: 'clock', input: '{}' };

const CONTENTS = {
  'a tool call': [call],
  'text and a tool call': [text, call],
  'a tool call and text': [call, text],
  'reasoning and a tool call': [reasoning, call],
  text: [text],
  'reasoning and text': [reasoning, text],
  'reasoning alone': [reasoning],
  'text of spaces alone': [spaces],
  'an empty text': [emptyText],
  nothing: [],
} satisfies Record<string, AssistantPart[]>;

type Reason = LanguageModelV3FinishReason['unified'];
type Verdict = FinishKind | 'broken';

const allCalls = (verdict: Verdict) => ({
  'a tool call': verdict,
  'text and a tool call': verdict,
  'a tool call and text': verdict,
  'reasoning and a tool call': verdict,
});
const allTexts = (verdict: Verdict) => ({ text: verdict, 'reasoning and text': verdict });
const noContent = (verdict: Verdict) => ({
  'reasoning alone': verdict,
  'text of spaces alone': verdict,
  'an empty text': verdict,
  nothing: verdict,
});
const whatever = (verdict: Verdict) => ({ ...allCalls(verdict), ...allTexts(verdict), ...noContent(verdict) });

/** Every cell. */
const TABLE: Record<Reason, Record<keyof typeof CONTENTS, Verdict>> = {
  stop: { ...allCalls('toolCalls'), ...allTexts('stop'), ...noContent('broken') },
  'tool-calls': { ...allCalls('toolCalls'), ...allTexts('stop'), ...noContent('broken') },
  length: whatever('length'),
  'content-filter': whatever('contentFilter'),
  error: whatever('broken'),
  other: whatever('broken'),
};

const cells = Object.entries(TABLE).flatMap(([reason, row]) =>
  Object.entries(row).map(([content, verdict]) => ({
    reason: reason as Reason,
    content: content as keyof typeof CONTENTS,
    verdict,
  })),
);

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};

function judged(parts: AssistantPart[], reason: LanguageModelV3FinishReason): Verdict {
  try {
    return judgeFinish({ parts, finish: { reason, usage } });
  } catch (error) {
    if (error instanceof StreamBrokenError) return 'broken';
    throw error;
  }
}

test.each(cells)('the finish "$reason" with $content is: $verdict', ({ reason, content, verdict }) => {
  expect(judged(CONTENTS[content], { unified: reason, raw: reason })).toBe(verdict);
});

test('a stream that ended without a finish is broken, whatever it said', () => {
  for (const parts of Object.values(CONTENTS)) {
    expect(() => judgeFinish({ parts, finish: null })).toThrow(/cut off/);
  }
});

test('a finish for which the provider has no word of its own is judged like any other', () => {
  expect(judged([text], { unified: 'stop', raw: undefined })).toBe('stop');
  expect(judged([call], { unified: 'tool-calls', raw: undefined })).toBe('toolCalls');
  expect(judged([text], { unified: 'other', raw: undefined })).toBe('broken');
});

test('a finish that is no proper end is named', () => {
  expect(() => judgeFinish({ parts: [text], finish: { reason: { unified: 'other', raw: 'eos' }, usage } })).toThrow(
    /"eos"/,
  );
});

test.each<[FinishKind, boolean, string, RegExp | null]>([
  ['stop', true, 'completed', null],
  ['toolCalls', true, 'completed', null],
  ['length', true, 'completed', /cut at the model's output limit/],
  ['length', false, 'failed', /output limit before it wrote any text/],
  ['contentFilter', true, 'failed', /content filter/],
  ['contentFilter', false, 'failed', /content filter/],
])('a last call that ends by %s, with text %p, ends its turn %s', (finish, hasText, outcome, reason) => {
  const ending = endingOf(finish, hasText);
  expect(ending.outcome).toBe(outcome);
  if (reason) expect(ending.reason).toMatch(reason);
  else expect(ending.reason).toBeNull();
});
