import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import {
  aTokenASecond,
  KEEPALIVES,
  type Silence,
  SILENCES,
  type Slow,
  slowCalls,
  type Slowness,
  stallBudgets,
} from '../test/support/stall-scenes.js';
import type { SeenRequest } from '../test/support/fault-proxy.js';
import type { Bench } from './bench.js';
import { say } from './servers.js';
import { type SeenTurn, StallScene, tokensOf } from './stall-scene.js';

const SHORT_GAP_MS = 3_000;
const LONG_GAP_MS = 10_000;
/** What may pass beyond a budget until the server gives up, and from then until the provider has the next request. */
const OVER_MS = 1_500;
const NEXT_MS = 2_000;
/** A silence that is not detected so long after its budget never is. */
const MISSED_MS = 30_000;
/** Between two turns that begin, so that they do not slow each other down. */
const APART_MS = 150;
const FROZEN_MS = 3_000;

/** How a silence was noticed; `null` when it was not. */
type Detection = {
  /** From the last progress until the server gave up, less the budget. */
  overMs: number;
  /** From then until the next request. */
  nextMs: number;
} | null;

interface Waste {
  generated: number;
  kept: number;
}

/**
 * Calls that go silent in every phase, calls that send keepalives and nothing else, and calls that are slow and well, over real sockets.
 * The provider's side measures: it knows when its last token went out and when the next request came, and asks the server then when
 * that gave up.
 */
export const measureStalls: Bench = async ({ isShort }) => {
  const scene = await StallScene.set([SHORT_GAP_MS, LONG_GAP_MS]);
  const lag = monitorEventLoopDelay({ resolution: 5 });
  try {
    lag.enable();
    return report(await new StallBench(scene, isShort).run(), clockErrorMs(lag));
  } finally {
    await scene.end();
  }
};

/** The provider's side shares a process with the rest of the bench: it may see a request, or note a token, so much too late. */
function clockErrorMs(lag: IntervalHistogram): number {
  lag.disable();
  return Math.round(lag.max / 1e6);
}

interface Measured {
  faults: Detection[];
  keepalives: Detection[];
  /** Of each slow call, whether it was killed. */
  healthy: boolean[];
  problems: string[];
}

function report({ faults, keepalives, healthy, problems }: Measured, errorMs: number) {
  const detections = [...faults, ...keepalives];
  const overs = detections.map((detection) => detection?.overMs ?? MISSED_MS);
  const nextMs = Math.max(...detections.map((detection) => detection?.nextMs ?? MISSED_MS));
  say(
    `the next request came at most ${nextMs} ms after a detection; what the provider notes is up to ${errorMs} ms late`,
  );
  const measured = {
    faults: faults.length,
    early: overs.filter((overMs) => overMs < -errorMs).length,
    late: overs.filter((overMs) => overMs > OVER_MS).length,
    maxOverMs: Math.max(...overs),
    'healthy.runs': healthy.length,
    'healthy.killed': healthy.filter((isKilled) => isKilled).length,
    'keepalive.runs': keepalives.length,
    'keepalive.missed': keepalives.filter((detection) => detection === null).length,
  };
  const bounds = ['early', 'late', 'healthy.killed', 'keepalive.missed'] as const;
  const broken = bounds.filter((key) => measured[key] > 0).map((key) => `${key} is ${measured[key]}, more than 0`);
  if (nextMs > NEXT_MS) broken.push(`the next request came ${nextMs} ms after a detection, more than ${NEXT_MS}`);
  return { measured, broken: [...broken, ...problems] };
}

class StallBench {
  /** What was wrong besides times. */
  private readonly problems: string[] = [];
  private readonly waste: Waste = { generated: 0, kept: 0 };
  private begun = 0;

  constructor(
    private readonly scene: StallScene,
    private readonly isShort: boolean,
  ) {}

  /** Everything at once, for it is made of waiting. */
  async run(): Promise<Measured> {
    const gapsMs = this.isShort ? [SHORT_GAP_MS] : [SHORT_GAP_MS, LONG_GAP_MS];
    const blocked = this.blocked();
    const forGaps = <Result>(run: (gapMs: number) => Promise<Result>[]) => Promise.all(gapsMs.flatMap(run));
    const slow = forGaps((gapMs) => slowCalls(this.slowness(gapMs)).map((call) => this.slow(call, gapMs)));
    const [silences, keepalives, unreachable] = await Promise.all([
      forGaps((gapMs) => SILENCES.map((silence) => this.silence(silence, gapMs))),
      forGaps((gapMs) => KEEPALIVES.map((silence) => this.silence(silence, gapMs))),
      this.unreachable(gapsMs),
    ]);
    const { generated, kept } = this.waste;
    say(`tokens over all faults: ${generated} generated, ${kept} kept, ${generated - kept} wasted`);
    const healthy = [...(await slow), ...(await blocked)];
    return { faults: [...silences, ...unreachable], keepalives, healthy, problems: this.problems };
  }

  /** All 40 tokens with the short gap; with the long one they would take six minutes. */
  private slowness(gapMs: number): Slowness {
    return { gapMs, share: 0.9, tokens: this.isShort || gapMs > SHORT_GAP_MS ? 12 : 40 };
  }

  /** A turn whose call goes silent once. */
  private async silence(silence: Silence, gapMs: number): Promise<Detection> {
    const { what, provider, phase, scripts } = silence;
    await this.turnToBegin();
    const turn = await this.scene.turn({ ...silence, gapMs, goesSilent: true });
    const [silent, next] = turn.requests.slice(scripts.length - 1);
    const name = `${phase}, ${gapMs} ms, ${provider}, ${what}`;
    if (!silent || !next || turn.givenUpAtMs === null) return this.missed(name, turn);
    if (!turn.isWhole) this.problems.push(`${name}: the turn ended with ${JSON.stringify(turn.ended)}`);
    if (next.body !== silent.body) this.problems.push(`${name}: the second request is another one`);
    const sinceMs = phase === 'prefill' ? silent.atMs : silent.passedAtMs!;
    const overMs = turn.givenUpAtMs - sinceMs - stallBudgets(gapMs)[phase];
    const detection = { overMs, nextMs: next.atMs - turn.givenUpAtMs };
    say(`${name}: ${JSON.stringify({ ...detection, ...this.wasted(turn, silent) })}`);
    return detection;
  }

  private missed(name: string, { requests, ended }: SeenTurn): null {
    this.problems.push(`${name}: ${requests.length} requests, and the turn ended with ${JSON.stringify(ended)}`);
    return null;
  }

  private wasted(turn: SeenTurn, silent: SeenRequest) {
    const tokens = tokensOf(turn, silent);
    this.waste.generated += tokens.generated;
    this.waste.kept += tokens.kept;
    return { tokens };
  }

  /** A provider that takes the connection and then says nothing: no request can be sent. One after the other, to tell them apart. */
  private async unreachable(gapsMs: number[]): Promise<Detection[]> {
    const detections: Detection[] = [];
    for (const gapMs of gapsMs) {
      const { connectedAtMs, givenUpAtMs } = await this.scene.unreachableTurn(gapMs, gapMs + MISSED_MS);
      const [first, next] = connectedAtMs;
      const isSeen = first !== undefined && next !== undefined && givenUpAtMs !== null;
      const { connect } = stallBudgets(gapMs);
      detections.push(isSeen ? { overMs: givenUpAtMs - first - connect, nextMs: next - givenUpAtMs } : null);
      say(`connect, ${gapMs} ms: ${JSON.stringify(detections.at(-1))}; no request was sent`);
    }
    return detections;
  }

  /** True when a call that is slow and well was killed. */
  private async slow(call: Slow, gapMs: number): Promise<boolean> {
    await this.turnToBegin();
    const turn = await this.scene.turn({ ...call, gapMs });
    return isKilled(`slow, ${gapMs} ms, ${call.provider}, ${call.what}`, turn, call.requests);
  }

  /** Streams whose worker is blocked by a tool of another session, and frozen a little later. */
  private async blocked(): Promise<boolean[]> {
    const apart = { gapMs: LONG_GAP_MS, isApart: true };
    const streams = (['openai-compatible', 'anthropic'] as const).map((provider) =>
      this.scene.turn({ ...apart, provider, asked: 'tokens', scripts: [aTokenASecond] }),
    );
    await delay(3_000);
    await this.scene.turn({ ...apart, provider: 'openai-compatible', asked: 'block', scripts: [] });
    await delay(2_000);
    this.scene.signalApart('SIGSTOP');
    await delay(FROZEN_MS);
    this.scene.signalApart('SIGCONT');
    return (await Promise.all(streams)).map((turn) => isKilled('slow, its worker blocked, then frozen', turn, 1));
  }

  private turnToBegin(): Promise<void> {
    return delay(this.begun++ * APART_MS);
  }
}

function isKilled(name: string, { requests, ended, isWhole }: SeenTurn, needed: number): boolean {
  const lives = isWhole && requests.length === needed;
  say(lives ? `${name}: lives` : `${name}: KILLED, ${requests.length} requests, ${JSON.stringify(ended)}`);
  return !lives;
}
