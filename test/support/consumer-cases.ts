/**
 * What every reader of a journal must make of the hard cases of streamed text. One table, played to `accumulate`, to `vigil chat --json`,
 * to `vigil chat` with and without a terminal, and to a webhook's collector: all must end at the same text.
 */
import type { RecordInput } from '../../protocol/calls.js';
import type { OutputBody } from '../../protocol/outputs.js';
import { UNKNOWN_USAGE, type Usage } from '../../protocol/usage.js';
import type { SessionStore } from '../../store/session-store.js';

export interface ConsumerCase {
  name: string;
  turnId: string;
  /** Between the start and the end of the turn. */
  outputs: OutputBody[];
  outcome: 'completed' | 'failed';
  reason: string | null;
  /** Texts of its completed calls. */
  segments: string[];
  usage: Usage;
  /** The turn as a terminal shows it in the end. */
  screen: string;
  /** What goes to standard error where standard output is no terminal. */
  aside: string;
}

type Played = Omit<ConsumerCase, 'name' | 'turnId' | 'outputs' | 'outcome' | 'reason'> &
  Partial<Pick<ConsumerCase, 'outcome' | 'reason'>>;

/** The outputs of one turn, in few words: calls by number, tries by attempt. */
class Turn {
  constructor(readonly turnId: string) {}

  delta = (call: number, attempt: number, text: string): OutputBody => ({
    kind: 'TextDelta',
    text,
    ...this.ofTry(call, attempt),
  });
  reasoning = (call: number, attempt: number, text: string): OutputBody => ({
    kind: 'ReasoningDelta',
    text,
    ...this.ofTry(call, attempt),
  });
  discarded = (call: number, attempt: number): OutputBody => ({
    ...{ kind: 'TextStreamDiscarded', reason: 'resumed', phase: 'streaming' },
    ...this.ofTry(call, attempt),
  });
  text = (call: number, attempt: number, text: string): OutputBody => ({
    ...{ kind: 'TextOutput', text, isCallBoundary: true },
    ...this.ofTry(call, attempt),
  });
  tool = (n: number): OutputBody[] => {
    const ids = { turnId: this.turnId, toolCallId: `${this.turnId}.tool${n}`, name: 'look' };
    return [
      { kind: 'ToolStarted', ...ids, input: `{"n":${n}}` },
      { kind: 'ToolFinished', ...ids, ok: true, result: `seen ${n}` },
    ];
  };
  notice = (message: string): OutputBody => ({ ...sessionNotice(message), turnId: this.turnId });

  private ofTry(call: number, attempt: number) {
    return { turnId: this.turnId, callId: `${this.turnId}.${call}`, try: { dispatch: 1, attempt } };
  }
}

function sessionNotice(message: string): OutputBody & { kind: 'Notice' } {
  return { kind: 'Notice', code: 'model_busy', message, isCallBoundary: false };
}

const tokens = (input: number, output: number): Usage => ({
  ...UNKNOWN_USAGE,
  uncachedInputTokens: input,
  outputTokens: output,
});

const LOOKED = '[tool look({"n":1}) -> seen 1]\n';
const LOOKED_TWICE = `${LOOKED}[tool look({"n":2}) -> seen 2]\n`;

const TABLE: [name: string, outputs: (turn: Turn) => OutputBody[], expected: Played][] = [
  [
    "(a) a completed call's text, a dead call's partial text, the resumed answer",
    ({ delta, text, tool, discarded }) => [
      ...[delta(1, 1, 'The first '), delta(1, 1, 'part.'), text(1, 1, 'The first part.'), ...tool(1)],
      ...[delta(2, 1, 'A dead half '), delta(2, 1, 'of a sen'), discarded(2, 1)],
      ...[delta(2, 2, 'The resumed '), text(2, 2, 'The resumed answer.')],
    ],
    {
      segments: ['The first part.', 'The resumed answer.'],
      usage: tokens(30, 8),
      screen: `The first part.\n${LOOKED}The resumed answer.\n(tokens: 30 input, 8 output)\n`,
      aside: `${LOOKED}(tokens: 30 input, 8 output)\n`,
    },
  ],
  [
    '(b) a resumed call that shows no delta',
    ({ delta, text, discarded }) => [delta(1, 1, 'Half an an'), discarded(1, 1), text(1, 2, 'The full answer.')],
    {
      segments: ['The full answer.'],
      usage: tokens(11, 3),
      screen: 'The full answer.\n(tokens: 11 input, 3 output)\n',
      aside: '(tokens: 11 input, 3 output)\n',
    },
  ],
  [
    '(c) notices in the middle of a stream that is taken back',
    ({ delta, text, discarded, notice }) => [
      ...[delta(1, 1, 'This will be '), notice('of the turn'), delta(1, 1, 'taken '), sessionNotice('of the session')],
      ...[
        { kind: 'MessageReceived' as const, messageId: 'later', disposition: { kind: 'queued' as const, position: 1 } },
      ],
      ...[delta(1, 1, 'back'), discarded(1, 1), delta(1, 2, 'This '), text(1, 2, 'This stands.')],
    ],
    {
      segments: ['This stands.'],
      usage: tokens(12, 3),
      screen: '[of the turn]\nThis stands.\n(tokens: 12 input, 3 output)\n[of the session]\n[queued, number 1]\n',
      aside: '[of the turn]\n[of the session]\n[queued, number 1]\n(tokens: 12 input, 3 output)\n',
    },
  ],
  [
    '(d) two resumes in one turn',
    ({ delta, text, discarded }) => [
      ...[delta(1, 1, 'Dead once'), discarded(1, 1), delta(1, 2, 'Dead again'), discarded(1, 2)],
      ...[delta(1, 3, 'Alive'), text(1, 3, 'Alive at last.')],
    ],
    {
      segments: ['Alive at last.'],
      usage: tokens(13, 4),
      screen: 'Alive at last.\n(tokens: 13 input, 4 output)\n',
      aside: '(tokens: 13 input, 4 output)\n',
    },
  ],
  [
    '(e) text, a tool, text',
    ({ delta, text, tool }) => [
      ...[delta(1, 1, 'One wo'), delta(1, 1, 'rd, a\nline'), delta(1, 1, '.'), text(1, 1, 'One word, a\nline.')],
      ...tool(1),
      ...[delta(2, 1, 'Af'), delta(2, 1, 'ter'), text(2, 1, 'After')],
    ],
    {
      segments: ['One word, a\nline.', 'After'],
      usage: tokens(40, 9),
      screen: `One word, a\nline.\n${LOOKED}After\n(tokens: 40 input, 9 output)\n`,
      aside: `${LOOKED}(tokens: 40 input, 9 output)\n`,
    },
  ],
  [
    '(f) a call that only calls a tool, between texts',
    ({ delta, text, tool }) => [
      ...[delta(1, 1, 'Before'), text(1, 1, 'Before'), ...tool(1), text(2, 1, ''), ...tool(2)],
      ...[delta(3, 1, 'Behind'), text(3, 1, 'Behind')],
    ],
    {
      segments: ['Before', 'Behind'],
      usage: tokens(50, 10),
      screen: `Before\n${LOOKED_TWICE}Behind\n(tokens: 50 input, 10 output)\n`,
      aside: `${LOOKED_TWICE}(tokens: 50 input, 10 output)\n`,
    },
  ],
  [
    '(g) reasoning around and within text',
    ({ delta, text, reasoning, discarded }) => [
      ...[reasoning(1, 1, 'Hmm. '), delta(1, 1, 'Thought '), reasoning(1, 1, 'Or not? '), discarded(1, 1)],
      ...[reasoning(1, 2, 'Yes. '), delta(1, 2, 'Thought '), reasoning(1, 2, 'Sure. '), delta(1, 2, 'out.')],
      text(1, 2, 'Thought out.'),
    ],
    {
      segments: ['Thought out.'],
      usage: tokens(14, 5),
      screen: 'Thought out.\n(tokens: 14 input, 5 output)\n',
      aside: '(tokens: 14 input, 5 output)\n',
    },
  ],
  [
    '(h) usage after no text',
    ({ delta, discarded }) => [delta(1, 1, 'Never to be'), discarded(1, 1)],
    {
      ...{ outcome: 'failed', reason: 'it broke', segments: [], usage: tokens(15, 0) },
      screen: '[turn failed: it broke]\n(tokens: 15 input, 0 output)\n',
      aside: '[turn failed: it broke]\n(tokens: 15 input, 0 output)\n',
    },
  ],
  [
    '(h) usage after a single chunk',
    ({ delta, text }) => [delta(1, 1, 'Chunk'), text(1, 1, 'Chunk')],
    {
      segments: ['Chunk'],
      usage: tokens(16, 1),
      screen: 'Chunk\n(tokens: 16 input, 1 output)\n',
      aside: '(tokens: 16 input, 1 output)\n',
    },
  ],
  [
    '(h) usage after a second turn',
    ({ text }) => [text(1, 1, 'Another turn.')],
    {
      segments: ['Another turn.'],
      usage: tokens(17, 2),
      screen: 'Another turn.\n(tokens: 17 input, 2 output)\n',
      aside: '(tokens: 17 input, 2 output)\n',
    },
  ],
];

export const CONSUMER_CASES: ConsumerCase[] = TABLE.map(([name, outputs, expected], index) => {
  const turnId = `t${index + 1}`;
  return { outcome: 'completed', reason: null, ...expected, name, turnId, outputs: outputs(new Turn(turnId)) };
});

export const answerOf = ({ segments }: ConsumerCase) => segments.join('\n\n');

const sourceOf = ({ turnId }: ConsumerCase) => ({ kind: 'message' as const, key: `m-${turnId}` });

/** Every output of the case's turn. */
export function wholeTurn(played: ConsumerCase): OutputBody[] {
  const { turnId, outputs, outcome, reason, usage } = played;
  const source = sourceOf(played);
  return [
    { kind: 'TurnStarted', turnId, source, silent: false, why: 'message' },
    ...outputs,
    { kind: 'TurnEnded', turnId, outcome, reason, text: answerOf(played), partial: null, usage, source, silent: false },
  ];
}

/** Writes cases into a session's journal, one output a transaction; the end of a turn is the store's own. */
export class CaseWriter {
  private written = 0;

  constructor(
    private readonly store: SessionStore,
    private readonly sessionId: string,
  ) {}

  async write(body: OutputBody): Promise<void> {
    await this.record({ outputs: [{ ...body, key: `case/${++this.written}` }] });
  }

  /** Ends the turn, as the answer to the messages. */
  async end(played: ConsumerCase, messageIds: readonly string[]): Promise<void> {
    const { turnId, outcome, reason, usage } = played;
    const ending = { turnId, outcome, reason, usage, source: sourceOf(played), silent: false };
    await this.record({
      outcomes: [{ ...ending, startedAtMs: this.written, endedAtMs: this.written + 1 }],
      items: messageIds.map((itemId) => ({ itemId, turnId, fate: 'answered', contentHash: '' })),
    });
  }

  /** A whole turn that answers the messages; `onWritten` is called after each output. */
  async play(
    played: ConsumerCase,
    { messageIds = [], onWritten }: { messageIds?: string[]; onWritten?: (body: OutputBody) => Promise<unknown> } = {},
  ): Promise<void> {
    const [started, ...rest] = wholeTurn(played).slice(0, -1);
    const { turnId } = played;
    const received = messageIds.map((messageId): OutputBody => {
      return { kind: 'MessageReceived', messageId, disposition: { kind: 'started', turnId } };
    });
    for (const body of [...received, started!, ...rest]) {
      await this.write(body);
      await onWritten?.(body);
    }
    await this.end(played, messageIds);
  }

  private record(over: Partial<RecordInput>): Promise<void> {
    const nothing = { outputs: [], outcomes: [], items: [] };
    const base = { sessionId: this.sessionId, chain: 'chain-1', agent: 'demo', status: 'running' as const, queued: 0 };
    return this.store.record({ ...base, ...nothing, ...over });
  }
}
