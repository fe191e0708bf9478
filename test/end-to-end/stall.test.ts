/** Calls that go silent on a real server with real sockets, and calls that are slow and well. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { packageRoot } from '../../config/package-root.js';
import { accumulate, answerText, EMPTY_TRANSCRIPT } from '../../protocol/accumulate.js';
import type { Output } from '../../protocol/outputs.js';
import { DIALECTS, withUsage } from '../support/activity-dialects.js';
import { type Exchange, passed, type Script } from '../support/fault-proxy.js';
import { KEYS, TestProviders } from '../support/provider.js';
import {
  ANSWERS,
  type Asked,
  KEEPALIVES,
  type SceneProvider,
  type Silence,
  SILENCES,
  slowCalls,
  stallBudgets,
  stallFixtures,
} from '../support/stall-scenes.js';
import { until } from '../support/until.js';
import { Vigil } from '../support/vigil.js';

const GAP_MS = 3_000;
/** For what must survive, on a busy machine too. */
const PATIENT_GAP_MS = 5_000;
const LIMIT_MS = 100_000;
/** Between two beginnings, which would slow each other down. */
const APART_MS = 100;

let providers: TestProviders;
beforeAll(async () => {
  providers = await TestProviders.start();
  providers.answers(stallFixtures());
});
afterAll(() => providers.stop());
const vigil = Vigil.inFile(() => ({
  VIGIL_AGENTS: join(packageRoot(), 'test', 'support', 'stall-agents.ts'),
  VIGIL_TEST_GAPS_MS: `${GAP_MS},${PATIENT_GAP_MS}`,
  VIGIL_TEST_TRACE: tracePath(),
  VIGIL_TEST_COMPATIBLE: `${providers.get('openai-compatible').proxy.url}/v1#o4-mini`,
  ANTHROPIC_BASE_URL: `${providers.get('anthropic').proxy.url}/v1`,
  ANTHROPIC_API_KEY: KEYS.anthropic,
}));
const tracePath = () => join(vigil.folder, 'trace');

const begins: (() => void)[] = [];
beforeAll(() => begins.forEach((begin) => begin()));

/** These tests are made of waiting: all of the file begin at once, or nearly, and each waits for its own end. */
function testTogether(title: string, body: () => Promise<void>): void {
  let running = Promise.resolve();
  const afterMs = APART_MS * begins.length;
  begins.push(() => {
    running = delay(afterMs).then(body);
    running.catch(() => undefined);
  });
  test(title, () => running);
}

interface Asking {
  provider: SceneProvider;
  asked: Asked;
  scripts: Script[];
  agent?: string;
}

/** Asks in a session of its own, whose calls go as the scripts say, and waits for the end. */
async function ask({ provider, asked, scripts, agent = `${provider}-${GAP_MS}` }: Asking, session = vigil.session()) {
  const { proxy } = providers.get(provider);
  proxy.nextOf(session, ...scripts);
  const sent = await vigil.client.send(session, { text: `${asked} in ${session}` }, { agent });
  const outcome = await sent.outcome({ signal: AbortSignal.timeout(LIMIT_MS) });
  return { session, outcome, outputs: await vigil.outputs(session), requests: proxy.requestsOf(session) };
}

const ofKind = <Kind extends Output['kind']>(outputs: Output[], kind: Kind) =>
  outputs.filter((output): output is Extract<Output, { kind: Kind }> => output.kind === kind);

const textOf = (outputs: Output[]) => accumulate(EMPTY_TRANSCRIPT, outputs).turns.map(answerText);

/** The ids of the tool calls that had their effect in the session. */
function effectsIn(session: string): string[] {
  const lines = existsSync(tracePath()) ? readFileSync(tracePath(), 'utf8').trim().split('\n') : [];
  const effects = lines.map((line) => JSON.parse(line) as { sessionId: string; toolCallId: string });
  return effects.filter((effect) => effect.sessionId === session).map(({ toolCallId }) => toolCallId);
}

/** Resumed once, with the same request, and whole. */
async function expectResumed(silence: Silence): Promise<void> {
  const { asked, scripts, phase, isShown } = silence;
  const { session, outcome, outputs, requests } = await ask(silence);
  expect(outcome).toMatchObject({ outcome: 'completed', text: ANSWERS[asked] });
  expect(textOf(outputs)).toEqual([ANSWERS[asked]]);
  const [silent, next] = requests.slice(scripts.length - 1);
  expect(next!.body).toBe(silent!.body);
  expect(requests).toHaveLength(1 + (asked === 'everything' ? 2 : 1));
  expect(effectsIn(session)).toHaveLength(asked === 'everything' ? 1 : 0);
  const first = { try: { attempt: 1 } };
  expect(ofKind(outputs, 'TextStreamDiscarded')).toMatchObject(isShown ? [{ reason: 'resumed', ...first }] : []);
  const budgetMs = stallBudgets(GAP_MS)[phase];
  const warnings = ofKind(outputs, 'StallWarning');
  expect(warnings).toMatchObject([{ phase, budgetMs, ...first }]);
  expect(warnings[0]!.silentMs).toBeGreaterThanOrEqual(0.6 * budgetMs);
}

describe('a call that goes silent is warned of, and resumed with the same request', () => {
  for (const silence of SILENCES) testTogether(`${silence.provider} ${silence.what}`, () => expectResumed(silence));
});

describe('a call that only keeps its connection alive is silent', () => {
  for (const silence of KEEPALIVES)
    testTogether(`${silence.provider} with ${silence.what}`, () => expectResumed(silence));
});

describe('a call that is slow and well is left alone', () => {
  for (const slow of slowCalls({ gapMs: PATIENT_GAP_MS, share: 0.6, tokens: 5 })) {
    testTogether(`${slow.provider} with ${slow.what}`, async () => {
      const { outcome, requests } = await ask({ ...slow, agent: `${slow.provider}-${PATIENT_GAP_MS}` });
      expect(outcome).toMatchObject({ outcome: 'completed', text: ANSWERS[slow.asked] });
      expect(requests).toHaveLength(slow.requests);
    });
  }
});

const silentInText: Script = (exchange) => exchange.through('beta g');

testTogether('a stall in the call after the third tool round resumes that call, and no tool runs again', async () => {
  const scripts = [passed, passed, passed, (exchange: Exchange) => exchange.through('ta the')];
  const { session, outcome, requests } = await ask({ provider: 'openai-compatible', asked: 'rounds', scripts });
  expect(outcome).toMatchObject({ outcome: 'completed', text: ANSWERS.rounds });
  expect(requests).toHaveLength(5);
  expect(requests[4]!.body).toBe(requests[3]!.body);
  const effects = effectsIn(session);
  expect(effects).toHaveLength(3);
  expect(new Set(effects).size).toBe(3);
});

testTogether('a call that was refused as busy and then goes silent is resumed all the same', async () => {
  const busy: Script = async (exchange) =>
    exchange.reply(429, DIALECTS.anthropic.errorBody('rate_limit_error', 'slow'), { 'retry-after': '1' });
  const scripts = [busy, silentInText];
  const { outcome, requests } = await ask({ provider: 'anthropic', asked: 'plain', scripts });
  expect(outcome).toMatchObject({ outcome: 'completed', text: ANSWERS.plain });
  expect(requests).toHaveLength(3);
});

testTogether('a call resumed after it had streamed is not given the time of a first one again', async () => {
  const keepalives: Script = async (exchange) => {
    await exchange.headers();
    await exchange.repeat(': still here\n\n', 200);
  };
  const scripts = [silentInText, keepalives];
  const { outcome, outputs, requests } = await ask({ provider: 'openai-compatible', asked: 'plain', scripts });
  expect(outcome).toMatchObject({ outcome: 'completed', text: ANSWERS.plain, discardedAttempts: 2 });
  const [, second, third] = requests;
  const { streaming, prefill } = stallBudgets(GAP_MS);
  expect(third!.atMs - second!.atMs).toBeGreaterThanOrEqual(streaming);
  expect(third!.atMs - second!.atMs).toBeLessThan(prefill);
  expect(ofKind(outputs, 'StallWarning').map(({ phase, budgetMs }) => [phase, budgetMs])).toEqual([
    ['streaming', streaming],
    ['prefill', streaming],
  ]);
});

testTogether('the view tells of a call that runs what it has shown', async () => {
  const session = vigil.session();
  // Several silences: on a busy machine the command takes longer than one lasts.
  const scripts = [silentInText, silentInText];
  const asking = ask(
    { provider: 'openai-compatible', asked: 'plain', scripts, agent: `openai-compatible-${PATIENT_GAP_MS}` },
    session,
  );
  const { turn } = await until('progress', async () => {
    const view = await vigil.client.state(session).catch(() => null);
    return view?.turn?.lastProgress.kind === 'content' && view;
  });
  expect(turn!.lastProgress.phase).toBe('streaming');
  await asking;
});

testTogether('vigil show tells the last progress, and when a turn ends in which nothing moves', async () => {
  const session = vigil.session();
  const sent = await vigil.client.send(session, { text: 'wait for 60 seconds' });
  await vigil.output(session, 'ToolStarted');
  const shown = await vigil.run(['show', session]);
  expect(shown.stdout).toMatch(/last progress: +call completed, 20/);
  expect(shown.stdout).toMatch(/a turn in which nothing moves ends within [\d.]+ min/);
  expect(shown.stdout).toMatch(/time allowed: +24 h for one attempt/);
  await vigil.client.stop(session);
  await sent.outcome();
});

testTogether('a tool that is stuck is given up once, and the model is told', async () => {
  const { session, outcome, requests } = await ask({ provider: 'openai-compatible', asked: 'stuck', scripts: [] });
  expect(outcome).toMatchObject({ outcome: 'completed', text: ANSWERS.stuck });
  expect(requests).toHaveLength(2);
  expect(requests[1]!.body).toMatch(/outcome of this call is unknown/);
  expect(effectsIn(session)).toHaveLength(1);
});

describe('when the resumes are used up', () => {
  for (const { agent, tries } of [
    { agent: `anthropic-${GAP_MS}`, tries: 3 },
    { agent: `never-resumed-${GAP_MS}`, tries: 1 },
  ]) {
    testTogether(`after ${tries} tries the turn ends as timeout, and the session goes on`, async () => {
      const provider = tries === 1 ? 'openai-compatible' : 'anthropic';
      const session = vigil.session();
      const scripts = Array.from({ length: tries }, () => silentInText);
      const first = await ask({ provider, asked: 'plain', scripts, agent }, session);
      expect(first.outcome).toMatchObject({ outcome: 'timeout', text: '', partial: null });
      expect(first.requests).toHaveLength(tries);
      const { stall, reason } = first.outcome;
      expect(stall).toMatchObject({ phase: 'streaming', budgetMs: GAP_MS, tries });
      expect(stall!.elapsedMs).toBeGreaterThanOrEqual(tries * GAP_MS);
      expect(reason).toContain(`silent for ${GAP_MS / 1_000} s in phase "streaming"`);
      const discarded = { discardedAttempts: tries, discardedEstimatedInputTokens: null };
      expect(first.outcome).toMatchObject(discarded);
      expect(first.outcome.discardedReceivedChars).toBeGreaterThanOrEqual(tries * 'alpha beta g'.length);
      expect(first.outputs.at(-1)).toMatchObject({ kind: 'TurnEnded', stall, ...discarded });
      const next = await ask({ provider, asked: 'plain', scripts: [], agent }, session);
      expect(next.outcome).toMatchObject({ outcome: 'completed', text: ANSWERS.plain });
      expect(textOf(next.outputs)).toEqual(['', ANSWERS.plain]);
    });
  }
});

const UNREAL_USAGE = { prompt_tokens: 9_999, completion_tokens: 9_999, total_tokens: 19_998 };

/** Goes on with the answer, in other words and with another usage, whether or not somebody still listens. */
async function goOn(exchange: Exchange): Promise<void> {
  const reword = (event: string) => withUsage(UNREAL_USAGE)(event).replace('"content":"', '"content":"ZOMBIE ');
  await exchange.forward(() => false, reword);
  exchange.end();
}

describe('a try that the server gave up and that goes on', () => {
  const SIGNS: [string, (isNextThere: () => boolean) => Promise<unknown>][] = [
    ['when the next one has begun', (isNextThere) => until('the next request', isNextThere)],
    ['two seconds after its time', () => delay(GAP_MS + 2_000)],
  ];
  for (const [when, sign] of SIGNS) {
    testTogether(`${when} leaves nothing anywhere`, async () => {
      const session = vigil.session();
      const { proxy } = providers.get('openai-compatible');
      let hasGoneOn = false;
      const zombie: Script = async (exchange) => {
        await exchange.through('beta g');
        await sign(() => proxy.requestsOf(session).length > 1);
        await goOn(exchange).finally(() => (hasGoneOn = true));
      };
      const real: Script = async (exchange) => {
        // It has begun to think, so it may take its time.
        await exchange.through('first');
        await until('the zombie to have said all', () => hasGoneOn);
        await delay(300);
        await passed(exchange);
      };
      const asking = { provider: 'openai-compatible', asked: 'everything' } as const;
      const first = await ask({ ...asking, scripts: [zombie, real] }, session);
      expect(first.outcome).toMatchObject({ outcome: 'completed', text: ANSWERS.everything });
      expect(first.requests).toHaveLength(3);
      expect(effectsIn(session)).toHaveLength(1);
      const next = await ask({ ...asking, asked: 'plain', scripts: [] }, session);
      expect(textOf(next.outputs)).toEqual([ANSWERS.everything, ANSWERS.plain]);
      for (const trace of [next.outputs, next.outcome, next.requests.at(-1)!.body, first.outcome]) {
        expect(JSON.stringify(trace)).not.toMatch(/ZOMBIE|9999/);
      }
      const [discarded] = ofKind(next.outputs, 'TextStreamDiscarded');
      const late = next.outputs.filter(
        (output) => 'callId' in output && output.callId === discarded!.callId && output.try.attempt === 1,
      );
      expect(Math.max(...late.map(({ seq }) => seq))).toBe(discarded!.seq);
    });
  }
});
