import { accumulate, answerText, EMPTY_TRANSCRIPT, type TurnTranscript } from '../../protocol/accumulate.js';
import type { Output, OutputBody } from '../../protocol/outputs.js';
import { UNKNOWN_USAGE } from '../../protocol/usage.js';
import { renderTurn } from '../../client/cli/render-turn.js';

const ofTry = { turnId: 't1', callId: 't1.2', try: { dispatch: 1, attempt: 2 } };
const delta = (text: string): OutputBody => ({ kind: 'TextDelta', text, ...ofTry });
const completed: OutputBody = {
  ...{ kind: 'TextOutput', text: 'whole', isCallBoundary: true, turnId: 't1', callId: 't1.1' },
  try: { dispatch: 1, attempt: 1 },
};

function ended(partial: string | null, outcome: 'aborted' | 'timeout' = 'aborted', text = ''): OutputBody {
  const rest = { reason: 'why', text, usage: UNKNOWN_USAGE, silent: false, turnId: 't1' };
  return { kind: 'TurnEnded', outcome, partial, source: { kind: 'message', key: 'm1' }, ...rest };
}

function turnOf(...bodies: OutputBody[]): TurnTranscript {
  const outputs = bodies.map((body, n): Output => ({ ...body, seq: n + 1, atMs: 0 }));
  return accumulate(EMPTY_TRANSCRIPT, outputs).turns[0]!;
}

test('the partial text of a stopped turn stays, marked, and is no part of its answer', () => {
  const turn = turnOf(completed, delta('half a '), delta('sen'), ended('half a sen', 'aborted', 'whole'));
  expect(turn.items).toEqual([
    expect.objectContaining({ text: 'whole', isFinal: true }),
    { kind: 'text', callId: 't1.2', try: ofTry.try, text: 'half a sen', isFinal: false, isPartial: true },
  ]);
  expect(answerText(turn)).toBe('whole');
  expect(turn.ended).toMatchObject({ text: 'whole', partial: 'half a sen' });
});

test('the outcome says what the partial text is, whatever deltas were seen', () => {
  expect(turnOf(delta('half '), ended('half a sen')).items).toMatchObject([{ text: 'half a sen', isPartial: true }]);
  expect(turnOf(ended('half a sen')).items).toMatchObject([{ kind: 'text', text: 'half a sen', isPartial: true }]);
});

test('a turn that ended otherwise leaves no partial text, and neither does one of an older writer', () => {
  expect(turnOf(delta('half'), ended(null, 'timeout')).items).toEqual([]);
  const { partial: _, ...older } = ended(null) as OutputBody & { kind: 'TurnEnded' };
  const turn = turnOf(delta('half'), older as OutputBody);
  expect(turn).toMatchObject({ items: [], ended: { partial: null } });
});

test('a terminal shows partial text with a mark', () => {
  expect(renderTurn(turnOf(delta('half'), ended('half')))).toBe('half … [stopped here]\n[turn aborted: why]\n');
});
