/**
 * Every reader of a session's outputs ends at the same text, whatever calls died meanwhile: cases played into the journal
 * where only the reader is under test, and real stalls of a real provider.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../config/package-root.js';
import { openStore } from '../../store/open-store.js';
import type { OutputBody } from '../../protocol/outputs.js';
import type { SessionStore } from '../../store/session-store.js';
import { answerOf, CaseWriter, CONSUMER_CASES, type ConsumerCase } from '../support/consumer-cases.js';
import { passed, type Script } from '../support/fault-proxy.js';
import { TestProviders } from '../support/provider.js';
import { Chance } from '../support/session-chance.js';
import { Terminal } from '../support/terminal.js';
import { until } from '../support/until.js';
import { Vigil } from '../support/vigil.js';
import { vigilProgram } from '../support/vigil-command.js';
import { WebhookCollector } from '../support/webhook-collector.js';

const READ_LIMIT_MS = 30_000;

const vigil = Vigil.inFileWithoutWorker();
let store: SessionStore;
beforeAll(async () => void (store = await openStore(vigil.store)));
afterAll(() => store.close());

const named = CONSUMER_CASES.map((played) => [played.name, played] as const);
const caseOf = (letter: string) => CONSUMER_CASES.find(({ name }) => name.startsWith(`(${letter})`))!;

/** Without a worker the signals stay unread, so that nothing but the case writes. */
async function accepted(session: string, signals: number): Promise<void> {
  await until(
    `${signals} messages for ${session}`,
    async () => {
      const history = await vigil
        .handle(session)
        .fetchHistory()
        .catch(() => null);
      const found = history?.events?.filter((event) => event.workflowExecutionSignaledEventAttributes) ?? [];
      return found.length >= signals;
    },
    READ_LIMIT_MS,
  );
}

const unknownKind = { kind: 'AudioDelta', turnId: 't1' } as unknown as OutputBody;

describe('vigil chat', () => {
  test.each(named)('as JSON and without a terminal: %s', async (_, played) => {
    const session = vigil.session();
    const json = vigil.command(['chat', session, '--id', 'json', '--message', 'go', '--json']);
    const plain = vigil.command(['chat', session, '--id', 'plain', '--message', 'go']);
    await accepted(session, 2);
    await new CaseWriter(store, session).play(played, { messageIds: ['json', 'plain'] });
    const ends = await Promise.all([json.hasEnded(READ_LIMIT_MS), plain.hasEnded(READ_LIMIT_MS)]);
    expect(ends).toEqual(played.outcome === 'completed' ? [0, 0] : [3, 3]);
    const { segments, usage } = played;
    const expected = { segments, text: answerOf(played), partial: null, usage };
    expect(JSON.parse(json.stdout)).toMatchObject({ ...expected, messageId: 'json', turnId: played.turnId });
    expect(json.stderr).toBe('');
    expect(plain.stdout).toBe(answerOf(played) === '' ? '' : `${answerOf(played)}\n`);
    expect(plain.stderr).toBe(played.aside);
  });

  test('without a terminal writes an answer call by call, and of its own turn only', async () => {
    const session = vigil.session();
    const [other, own] = [caseOf('h'), caseOf('e')];
    const plain = vigil.command(['chat', session, '--id', 'own', '--message', 'go']);
    await accepted(session, 1);
    const writer = new CaseWriter(store, session);
    await writer.play(other);
    const seen: string[] = [];
    await writer.play(own, {
      messageIds: ['own'],
      async onWritten(output) {
        if (output.kind !== 'TextDelta' && output.kind !== 'TextOutput') return;
        const whole = [...seen, ...(output.kind === 'TextOutput' && output.text !== '' ? [output.text] : [])];
        seen.splice(0, seen.length, ...whole);
        await until('the text of completed calls', () => plain.stdout === seen.map((text) => `${text}\n`).join('\n'));
      },
    });
    expect(await plain.hasEnded(READ_LIMIT_MS)).toBe(0);
    expect(plain.stdout).toBe(`${answerOf(own)}\n`);
    expect(plain.stderr).toBe(own.aside);
  });

  test('without a terminal and without a message writes answers only, too', async () => {
    const session = vigil.session();
    const [one, two] = [caseOf('a'), caseOf('d')];
    const left = join(vigil.folder, 'left');
    const typing = `(echo go; until [ -e "${left}" ]; do sleep 0.1; done)`;
    const plain = vigil.shell(`${typing} | "$0" "$1" chat ${session}`);
    await accepted(session, 1);
    const writer = new CaseWriter(store, session);
    await writer.play(one);
    await writer.play(two);
    await until('the second answer', () => plain.stderr.endsWith(two.aside));
    expect(plain.stdout).toBe(`${answerOf(one)}\n${answerOf(two)}\n`);
    expect(plain.stderr).toMatch(/^Session .*\n/);
    expect(plain.stderr.replace(/^Session .*\n/, '')).toBe(`${one.aside}${two.aside}`);
    writeFileSync(left, '');
    expect(await plain.hasEnded(READ_LIMIT_MS)).toBe(0);
  });

  test('says that it has skipped what a newer version wrote', async () => {
    const session = vigil.session();
    const plain = vigil.command(['chat', session, '--id', 'own', '--message', 'go']);
    await accepted(session, 1);
    const played = { ...caseOf('e'), outputs: [unknownKind, ...caseOf('e').outputs, unknownKind] };
    await new CaseWriter(store, session).play(played, { messageIds: ['own'] });
    await plain.hasEnded(READ_LIMIT_MS);
    expect(plain.stdout).toBe(`${answerOf(played)}\n`);
    expect(plain.stderr).toBe(`[not shown: "AudioDelta", which a newer version of Vigil wrote]\n${played.aside}`);
  });

  test('of a message that was answered long ago shows answer and usage again', async () => {
    const session = vigil.session();
    const played = caseOf('a');
    const writer = new CaseWriter(store, session);
    await writer.play(played, { messageIds: ['old'] });
    const repeat = vigil.command(['chat', session, '--id', 'old', '--message', 'go']);
    await accepted(session, 1);
    const disposition = { kind: 'duplicate' as const, fate: 'answered' as const, contentDiffers: false };
    await writer.write({
      ...{ kind: 'MessageReceived', messageId: 'old' },
      disposition: { ...disposition, turnId: played.turnId },
    });
    expect(await repeat.hasEnded(READ_LIMIT_MS)).toBe(0);
    expect(repeat.stdout).toBe(`${answerOf(played)}\n`);
    expect(repeat.stderr).toBe('(tokens: 30 input, 8 output)\n');
  });
});

describe('a terminal', () => {
  let screen: Terminal;
  let session: string;
  let writer: CaseWriter;
  beforeAll(() => {
    session = vigil.session();
    writer = new CaseWriter(store, session);
    screen = new Terminal([...vigilProgram(), 'chat', session], vigil.places);
  });
  afterAll(() => screen.kill());

  /** Waits until the screen reads so, from where it stood before. */
  async function reads(before: string, expected: string): Promise<void> {
    const rest = () => screen.text.slice(before.length);
    const holds = () => screen.text.startsWith(before) && rest() === expected.trimEnd();
    await until('the screen', holds, READ_LIMIT_MS).catch(() => expect(rest()).toBe(expected.trimEnd()));
  }

  /** Every delta is on the screen before the next output is written. */
  const playSlowly = (played: ConsumerCase) =>
    writer.play(played, {
      onWritten: async (output) =>
        output.kind === 'TextDelta' && (await screen.shows(output.text.split('\n').at(-1)!.trim(), READ_LIMIT_MS)),
    });

  test.each(named)('shows: %s', async (_, played) => {
    await until('the prompt', () => screen.text.endsWith('you>'));
    const before = screen.text;
    screen.type('go\r');
    await reads(before, ' go');
    await playSlowly(played);
    await reads(before, ` go\n${played.screen}you>`);
  });

  test('shows a turn that nobody here began, and gives back the prompt with what was typed', async () => {
    const before = screen.text.slice(0, -'you>'.length);
    const typed = 'words '.repeat(20).trim();
    screen.type(typed);
    await until('the typed text', () => screen.text.replaceAll('\n', '').endsWith(typed));
    const played = caseOf('a');
    const again = { ...played, turnId: 'u1', outputs: inTurn('u1', played.outputs) };
    await playSlowly(again);
    const rest = () => screen.text.slice(before.length).split('you> ');
    await until('the prompt', () => rest().length === 2 && rest()[1]!.replaceAll('\n', '') === typed);
    expect(rest()[0]).toBe(played.screen);
    screen.type('\x15');
    await until('an empty line', () => screen.text.endsWith('you>'));
  });

  test('says that it has skipped what a newer version wrote', async () => {
    const before = screen.text;
    const played = caseOf('b');
    screen.type('go\r');
    await reads(before, ' go');
    await playSlowly({ ...played, turnId: 'u2', outputs: [unknownKind, ...inTurn('u2', played.outputs), unknownKind] });
    const skipped = '[not shown: "AudioDelta", which a newer version of Vigil wrote]\n';
    await reads(before, ` go\n${played.screen}${skipped}you>`);
  });
});

/** The same outputs in another turn of the session. */
function inTurn(turnId: string, outputs: OutputBody[]): OutputBody[] {
  return outputs.map((output) => {
    const call = 'callId' in output ? { callId: `${turnId}/${output.callId}` } : {};
    return 'turnId' in output ? { ...output, turnId, ...call } : output;
  });
}

describe('a webhook', () => {
  const expected = CONSUMER_CASES.map((played) => ({ turnId: played.turnId, final: answerOf(played) }));

  function check({ posts, finals }: { posts: { turnId: string; text: string }[]; finals: object[] }): void {
    expect(finals).toMatchObject(expected);
    expect(finals).toHaveLength(expected.length);
    for (const { turnId, text } of posts) {
      const { segments } = CONSUMER_CASES.find((played) => played.turnId === turnId)!;
      const committed = segments.map((_, n) => segments.slice(0, n + 1).join('\n\n'));
      expect(['', ...committed]).toContain(text);
    }
  }

  test('collects the same texts from a journal that is written meanwhile, and from a finished one', async () => {
    const session = vigil.session();
    const collectors = Array.from({ length: 10 }, (_, n) => new WebhookCollector(vigil.client, session, new Chance(n)));
    const limit = AbortSignal.timeout(READ_LIMIT_MS);
    const live = collectors.slice(0, 3).map((collector) => collector.collect(CONSUMER_CASES.length, limit));
    const writer = new CaseWriter(store, session);
    for (const played of CONSUMER_CASES) await writer.play(played);
    await Promise.all([...live, ...collectors.slice(3).map((late) => late.collect(CONSUMER_CASES.length, limit))]);
    for (const collector of collectors) check({ posts: collector.posts, finals: collector.finals() });
  });
});

describe('a provider that really goes silent', () => {
  const FIRST = 'First I look it up.';
  const ANSWER = 'The answer is five and nothing else.';
  const TOOL = '[tool add({"a":2,"b":3}) -> 5]\n';
  // Apart from the sessions above, whose messages wait for a worker.
  const live = Vigil.inFileWithoutWorker();
  let providers: TestProviders;
  let screen: Terminal;
  beforeAll(async () => {
    providers = await TestProviders.start();
    providers.says(({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? { content: ANSWER }
        : { content: FIRST, toolCalls: [{ name: 'add', arguments: '{"a":2,"b":3}', id: 'call_1' }] },
    );
    const model = `${providers.get('openai-compatible').proxy.url}/v1#o4-mini`;
    await live.startWorker({ VIGIL_MODEL: model, VIGIL_AGENTS: join(packageRoot(), 'test/support/quick-agent.ts') });
  }, READ_LIMIT_MS);
  afterAll(() => providers.stop());
  afterEach(() => screen.kill());

  const silentAfter =
    (text: string): Script =>
    (exchange) =>
      exchange.through(text);

  test.each([
    ['after a tool round', [passed, silentAfter('The an'), passed], ['The an']],
    ['twice in one turn', [silentAfter('First'), passed, silentAfter('The an'), passed], ['First', 'The an']],
  ])('%s leaves nothing of the dead calls with any reader', async (_, scripts, partials) => {
    const { proxy } = providers.get('openai-compatible');
    proxy.reset();
    proxy.next(...scripts);
    const session = live.session();
    screen = new Terminal([...vigilProgram(), 'chat', session], live.places);
    await screen.shows('you>');
    const webhook = new WebhookCollector(live.client, session, new Chance(1));
    const collected = webhook.collect(1, AbortSignal.timeout(READ_LIMIT_MS));
    const message = ['chat', session, '--agent', 'quick', '--id', 'm1', '--message', 'two and three?'];
    const plain = live.command(message);
    for (const partial of partials) await screen.shows(new RegExp(`^${partial}\\w*$`, 'm'));
    expect(await plain.hasEnded(READ_LIMIT_MS)).toBe(0);
    await collected;
    const json = await live.run([...message, '--json']);
    const text = `${FIRST}\n\n${ANSWER}`;
    expect(plain.stdout).toBe(`${text}\n`);
    expect(plain.stderr).toMatch(/^\[tool add.* -> 5\]\n\(tokens: .*\)\n$/);
    expect(JSON.parse(json.stdout)).toMatchObject({ segments: [FIRST, ANSWER], text, placed: { kind: 'duplicate' } });
    expect(webhook.finals()).toMatchObject([{ text, final: text }]);
    await until('the prompt', () => screen.text.endsWith('you>'));
    expect(screen.text.split('\n').slice(1).join('\n')).toMatch(turnOn(`${FIRST}\n${TOOL}${ANSWER}\n`));
    const discards = (await live.outputs(session)).filter((output) => output.kind === 'TextStreamDiscarded');
    expect(discards).toHaveLength(partials.length);
  });

  const turnOn = (shown: string): RegExp =>
    new RegExp(`^${shown.replace(/[[\](){}.]/g, '\\$&')}\\(tokens: .*\\)\nyou>$`);
});
