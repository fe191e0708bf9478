import { accumulate, answerText, EMPTY_TRANSCRIPT, type Transcript } from '../../protocol/accumulate.js';
import { type Output, type OutputBody, UNFILTERABLE_KINDS, withDefaults } from '../../protocol/outputs.js';
import { renderTurn } from '../../client/cli/render-turn.js';
import { answerOf, CONSUMER_CASES, wholeTurn } from '../support/consumer-cases.js';
import { Chance } from '../support/session-chance.js';

const SEEDS = 200;

const numbered = (bodies: OutputBody[]) => bodies.map((body, n): Output => ({ ...body, seq: n + 1, atMs: 0 }));
const texts = ({ turns }: Transcript) => turns.map(answerText);
const shown = ({ turns }: Transcript) =>
  turns.map(({ items }) => items.flatMap((item) => (item.kind === 'text' ? [item.text] : [])));

const EVERYTHING = numbered(CONSUMER_CASES.flatMap(wholeTurn));
const WHOLE = accumulate(EMPTY_TRANSCRIPT, EVERYTHING);

describe('accumulate', () => {
  test.each(CONSUMER_CASES.map((played) => [played.name, played] as const))('%s', (_, played) => {
    const outputs = numbered(wholeTurn(played));
    const open = accumulate(EMPTY_TRANSCRIPT, outputs.slice(0, -1)).turns[0]!;
    const final = open.items.filter((item) => item.kind === 'text' && item.isFinal);
    expect(final.map((item) => item.kind === 'text' && item.text)).toEqual(played.segments);
    expect(shown({ ...EMPTY_TRANSCRIPT, turns: [open] })).toEqual([played.segments]);
    const { turns } = accumulate(EMPTY_TRANSCRIPT, outputs);
    expect(turns.map(answerText)).toEqual([answerOf(played)]);
    expect(turns[0]!.ended).toMatchObject({ outcome: played.outcome, usage: played.usage });
  });

  test.each(CONSUMER_CASES.map((played) => [played.name, played] as const))(
    'streams, at every moment: %s',
    (_, played) => {
      const outputs = numbered(wholeTurn(played).slice(0, -1));
      outputs.forEach((_output, n) => {
        const sofar = outputs.slice(0, n + 1);
        const { items } = accumulate(EMPTY_TRANSCRIPT, sofar).turns[0]!;
        const found = items.flatMap((item) => (item.kind === 'text' ? [[item.text, item.isFinal]] : []));
        expect(found).toEqual([...committed(sofar), ...inFlight(sofar)]);
      });
    },
  );

  test('begins the text of a call anew with another try, also when nothing took the first one back', () => {
    const { outputs } = CONSUMER_CASES.find(({ name }) => name.startsWith('(d)'))!;
    const deltas = outputs.filter((output) => output.kind === 'TextDelta');
    expect(shown(accumulate(EMPTY_TRANSCRIPT, numbered(deltas)))).toEqual([['Alive']]);
  });
});

const committed = (outputs: Output[]) =>
  outputs.flatMap((output) => (output.kind === 'TextOutput' && output.text !== '' ? [[output.text, true]] : []));

/** What the deltas say since the last call was completed or taken back. */
function inFlight(outputs: Output[]): [string, boolean][] {
  const last = outputs.findLastIndex(({ kind }) => kind === 'TextOutput' || kind === 'TextStreamDiscarded');
  const text = outputs.slice(last + 1).map((output) => (output.kind === 'TextDelta' ? output.text : ''));
  return text.join('') === '' ? [] : [[text.join(''), false]];
}

describe('a reader ends at the same text', () => {
  test('however the outputs are cut into batches, and whichever come again', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const chance = new Chance(seed);
      let transcript = EMPTY_TRANSCRIPT;
      for (let done = 0; done < EVERYTHING.length;) {
        const from = Math.max(0, done - chance.between(0, 20));
        done = Math.min(EVERYTHING.length, done + chance.between(0, 15));
        transcript = accumulate(transcript, EVERYTHING.slice(from, done));
      }
      expect({ seed, transcript }).toEqual({ seed, transcript: WHOLE });
    }
  });

  test('whichever outputs it has missed, as long as the ends of turns come', () => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const chance = new Chance(seed);
      const share = chance.fraction();
      const some = EVERYTHING.filter(({ kind }) => UNFILTERABLE_KINDS.includes(kind) || chance.happens(share));
      expect({ seed, texts: texts(accumulate(EMPTY_TRANSCRIPT, some)) }).toEqual({ seed, texts: texts(WHOLE) });
    }
  });

  test('from wherever it begins', () => {
    const late = EVERYTHING.map((_, from) => texts(accumulate(EMPTY_TRANSCRIPT, EVERYTHING.slice(from))));
    expect(late).toEqual(late.map((found) => texts(WHOLE).slice(-found.length)));
  });
});

describe('outputs', () => {
  test('of an older version get the stated defaults', () => {
    const ended = EVERYTHING.findLast((output) => output.kind === 'TurnEnded')!;
    const { partial: _, ...older } = ended;
    expect(withDefaults(older as Output)).toEqual(ended);
    expect(accumulate(EMPTY_TRANSCRIPT, [older as Output]).turns[0]!.ended).toMatchObject({ partial: null });
  });

  test('of a newer version are skipped where their kind is unknown, and counted', () => {
    const mixed = EVERYTHING.flatMap((output) => [
      output,
      { kind: 'AudioDelta', turnId: 't1' } as unknown as OutputBody,
    ]);
    const transcript = accumulate(EMPTY_TRANSCRIPT, numbered(mixed));
    expect(transcript).toEqual({ ...WHOLE, seq: mixed.length, unknownKinds: { AudioDelta: EVERYTHING.length } });
  });
});

test.each(CONSUMER_CASES.map((played) => [played.name, played] as const))('a terminal reads: %s', (_, played) => {
  const inTurn = played.screen.replace('[of the session]\n[queued, number 1]\n', '');
  expect(renderTurn(accumulate(EMPTY_TRANSCRIPT, numbered(wholeTurn(played))).turns[0]!)).toBe(inTurn);
});
