/** Silences and slowness as a provider shows them, for tests and for the bench: what is asked, what is answered, and where it stops. */
import type { Fixture } from '@copilotkit/aimock';
import { setTimeout as delay } from 'node:timers/promises';
import type { Phase, PhaseBudgets } from '../../protocol/liveness.js';
import { DIALECTS } from './activity-dialects.js';
import type { Script } from './fault-proxy.js';
import { passed } from './fault-proxy.js';

export type SceneProvider = 'openai-compatible' | 'anthropic';

/** The phases that the stream gap does not hold may last three times as long; our own work is not what is measured. */
export function stallBudgets(gapMs: number): PhaseBudgets {
  const longerMs = 3 * gapMs;
  const ownMs = Math.max(gapMs, 20_000);
  const own = { setup: ownMs, finish: ownMs };
  return { ...own, connect: gapMs, prefill: longerMs, reasoning: longerMs, thinkingGap: longerMs, streaming: gapMs };
}

/** What the provider answers to a message that contains one of these words. */
export type Asked = 'plain' | 'everything' | 'rounds' | 'tokens' | 'bulk' | 'work' | 'block' | 'stuck';

const PLAIN = 'alpha beta gamma delta epsilon';
const END = 'zeta eta theta iota kappa';
const TOKENS = 40;
const BULK_CHUNKS = 40;
const ROUNDS = 3;

/** What the whole turn then says. */
export const ANSWERS: Record<Asked, string> = {
  plain: PLAIN,
  everything: `${PLAIN}\n\n${END}`,
  rounds: END,
  tokens: Array.from({ length: TOKENS }, (_, n) => `${n}`.padEnd(5) + '.').join(''),
  bulk: END,
  work: END,
  block: END,
  stuck: END,
};

const NOTE = 'a b c d e f g h i j';

export function stallFixtures(): Fixture[] {
  const call = (name: string, args: unknown = {}, id = 'call_1') => ({
    toolCalls: [{ name, arguments: JSON.stringify(args), id }],
  });
  const bulk = call('effect', { note: 'x'.repeat(1_024 * BULK_CHUNKS) });
  return [
    answering('plain', 0, { content: PLAIN }),
    answering('everything', 0, {
      reasoning: 'first second third',
      content: PLAIN,
      ...call('effect', { note: NOTE }),
    }),
    ...[...Array(ROUNDS).keys()].map((n) => answering('rounds', n, call('effect', { note: `${n}` }, `call_${n}`))),
    answering('tokens', 0, { content: ANSWERS.tokens }),
    { ...answering('bulk', 0, bulk), chunkSize: 1_024 },
    answering('work', 0, call('work')),
    answering('block', 0, call('block')),
    answering('stuck', 0, call('stuck')),
    { match: {}, response: { content: END }, chunkSize: 6 },
  ];
}

/** To a message with the word, when so many tool results have followed it. */
function answering(asked: Asked, results: number, response: Fixture['response']): Fixture {
  const isMeant: NonNullable<Fixture['match']['predicate']> = ({ messages }) => {
    const last = messages.findLastIndex(({ role }) => role === 'user');
    if (!JSON.stringify(messages[last]?.content ?? '').includes(asked)) return false;
    return messages.slice(last).filter(({ role }) => role === 'tool').length === results;
  };
  return { match: { predicate: isMeant }, response, chunkSize: 6 };
}

/** A call that goes silent. */
export interface Silence {
  what: string;
  provider: SceneProvider;
  phase: Phase;
  asked: Asked;
  /** What happens to the calls of the turn; the last of them is the silent one, and what follows is answered. */
  scripts: Script[];
  /** True when the person has been shown something that the dead try said. */
  isShown: boolean;
}

const noHeaders: Script = (exchange) => exchange.gone;
const headersAlone: Script = (exchange) => exchange.headers();
const through =
  (text: string): Script =>
  (exchange) =>
    exchange.through(text);

interface Place {
  what: string;
  phase: Phase;
  script: Script;
  isShown: boolean;
  only?: SceneProvider;
}

/** Where one answer with reasoning, text and a tool call can stop. */
const PLACES: Place[] = [
  { what: 'before the headers', phase: 'prefill', script: noHeaders, isShown: false },
  { what: 'after the headers', phase: 'prefill', script: headersAlone, isShown: false },
  { what: 'in mid-reasoning', phase: 'reasoning', script: through('second'), isShown: true },
  { what: 'in mid-text', phase: 'streaming', script: through('beta g'), isShown: true },
  {
    what: 'after a block of text',
    phase: 'thinkingGap',
    script: through('"content_block_stop","index":1'),
    isShown: true,
    only: 'anthropic',
  },
  { what: 'in mid tool arguments', phase: 'streaming', script: through(' c d e'), isShown: true },
];

const PROVIDERS_OF_SCENES = ['openai-compatible', 'anthropic'] as const;

export const SILENCES: Silence[] = PROVIDERS_OF_SCENES.flatMap((provider) => [
  ...PLACES.filter(({ only }) => only === undefined || only === provider).map(({ script, ...place }): Silence => ({
    ...place,
    provider,
    asked: 'everything',
    scripts: [script],
  })),
  {
    what: 'before the headers, after a tool round',
    ...{ provider, phase: 'prefill', asked: 'everything', scripts: [passed, noHeaders], isShown: false },
  },
  {
    what: 'in mid-text, after a tool round',
    ...{ provider, phase: 'streaming', asked: 'everything', scripts: [passed, through('ta the')], isShown: true },
  },
]);

/** Silences in which bytes go on arriving: comments, pings and deltas without content. */
export const KEEPALIVES: Silence[] = [
  keepalive('openai-compatible', 'comments', ': still here\n\n'),
  keepalive('openai-compatible', 'comments', ': still here\n\n', 'beta g'),
  keepalive('openai-compatible', 'empty deltas', DIALECTS['openai-compatible'].emptyDelta),
  keepalive('openai-compatible', 'empty deltas', DIALECTS['openai-compatible'].emptyDelta, 'beta g'),
  keepalive('anthropic', 'comments', ': still here\n\n'),
  keepalive('anthropic', 'comments', ': still here\n\n', 'beta g'),
  keepalive('anthropic', 'pings', DIALECTS.anthropic.ping),
  keepalive('anthropic', 'pings', DIALECTS.anthropic.ping, 'beta g'),
  keepalive('anthropic', 'empty deltas', DIALECTS.anthropic.emptyDelta, 'beta g'),
];

/** Nothing but the noise follows the headers, or the event with the text. */
function keepalive(provider: SceneProvider, noise: string, event: string, after: string | null = null): Silence {
  const script: Script = async (exchange) => {
    await (after === null ? exchange.headers() : exchange.through(after));
    await exchange.repeat(event, 200);
  };
  return {
    what: `${noise} ${after === null ? 'after the headers' : 'in mid-text'}`,
    ...{ provider, phase: after === null ? 'prefill' : 'streaming', asked: 'plain', scripts: [script] },
    isShown: after !== null,
  };
}

/** Healthy, though slow: none may be taken for silence. */
export interface Slow {
  what: string;
  provider: SceneProvider;
  asked: Asked;
  scripts: Script[];
  /** Requests that the turn needs. */
  requests: number;
}

export interface Slowness {
  gapMs: number;
  /** How much of each budget is used. */
  share: number;
  /** How many of the 40 tokens come slowly; the others come at once, so that short forms are short. */
  tokens: number;
}

export function slowCalls({ gapMs, share, tokens }: Slowness): Slow[] {
  const { prefill, reasoning, thinkingGap } = stallBudgets(gapMs);
  const both = (slow: Omit<Slow, 'provider'>) => PROVIDERS_OF_SCENES.map((provider) => ({ ...slow, provider }));
  const heldBack: Script = async (exchange) => {
    await delay(share * prefill);
    await passed(exchange);
  };
  const inReasoning = [pausing('third', share * reasoning)];
  const betweenBlocks = [pausing('"content_block_start","index":2', share * thinkingGap)];
  return [
    ...both({ what: 'a late first token, headers held back', asked: 'plain', scripts: [heldBack], requests: 1 }),
    ...both({ what: 'a late first token', asked: 'plain', scripts: [pausing(FIRST, share * prefill)], requests: 1 }),
    ...both({ what: 'slow tokens', asked: 'tokens', scripts: [slowly(share * gapMs, tokens)], requests: 1 }),
    ...both({ what: 'a gap in reasoning', asked: 'everything', scripts: inReasoning, requests: 2 }),
    ...both({ what: 'tool arguments of 40 KB', asked: 'bulk', scripts: [slowly(gapMs / 6, 2 * tokens)], requests: 2 }),
    ...both({ what: 'a tool of three times its silence', asked: 'work', scripts: [], requests: 2 }),
    {
      what: 'silent thinking between two blocks',
      ...{ provider: 'anthropic', asked: 'everything', scripts: betweenBlocks, requests: 2 },
    },
  ];
}

/** In the event that opens the text. */
const FIRST = /alpha|content_block_start/;

/** A token a second, more slowly than which nothing is when its worker cannot look. */
export const aTokenASecond: Script = slowly(1_000, 15);

/** An event that carries content: a token, as the imitated providers send them. */
export const CONTENT = /"(content|reasoning_content|arguments|text|thinking|partial_json)":"[^"]/;

function slowly(pauseMs: number, times: number): Script {
  return async (exchange) => {
    let left = times;
    for (let event = await exchange.peek(); event !== null; event = await exchange.peek()) {
      if (CONTENT.test(event) && left-- > 0) await delay(pauseMs);
      await exchange.pass();
    }
    exchange.end();
  };
}

function pausing(text: string | RegExp, pauseMs: number): Script {
  return async (exchange) => {
    await exchange.forward((event) => event.search(text) >= 0);
    await delay(pauseMs);
    await passed(exchange);
  };
}
