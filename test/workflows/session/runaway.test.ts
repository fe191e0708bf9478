import { computeFires } from '../../../activities/compute-fires.js';
import { LIMITS } from '../../../protocol/limits.js';
import type { Effect } from '../../../workflows/session/effects.js';
import type { SessionState } from '../../../workflows/session/state.js';
import {
  answers,
  aSession,
  fails,
  type Happening,
  NOW_MS,
  nudges,
  receives,
  recorded,
  schedules,
  timerFires,
  when,
} from '../../support/session-builders.js';

const HOURS_29_MS = 29 * 3_600_000;
const SECONDS_5 = { kind: 'interval', everyMs: LIMITS.wakeIntervalMs };

type Asked = Extract<Effect, { kind: 'computeFires' }>;

/** A session as time goes by, with every report given at once, and with anyone asking for the timer again all the time. */
class Life {
  state: SessionState = aSession();
  requests = 0;
  private nowMs = NOW_MS;
  private asked: Asked[] = [];

  constructor(private readonly isFailing: (text: string) => boolean) {}

  apply(happening: Happening): void {
    const { state, effects } = when(this.state, happening, { nowMs: this.nowMs });
    this.state = state;
    for (const effect of effects) {
      if (effect.kind === 'computeFires') this.asked.push(effect);
      if (effect.kind === 'callModel') this.requests += 1;
    }
  }

  /** Returns when nothing is due any more, or when the time is over. */
  liveFor(ms: number): void {
    const endMs = NOW_MS + ms;
    for (let n = 0; this.nowMs < endMs; n++) {
      if (n > 10_000) throw new Error('it runs away');
      if (!this.report()) {
        if (this.state.timerAtMs === null) return;
        this.nowMs = Math.max(this.nowMs, this.state.timerAtMs);
        this.apply(timerFires);
      }
      this.apply(nudges);
    }
  }

  /** What is in flight comes to its end, one at a time. */
  private report(): boolean {
    const asked = this.asked.shift();
    if (asked)
      this.apply({
        kind: 'firesComputed',
        id: asked.id,
        result: computeFires(asked.input, { defaultZone: 'UTC', channels: new Set() }),
      });
    else if (this.state.turn)
      this.apply(this.isFailing(JSON.stringify(this.state.turn.opener)) ? fails('Defect') : answers());
    else if (this.state.recording) this.apply(recorded);
    else return false;
    return true;
  }
}

test('a wake that keeps failing, a skipped one and a message that cannot be had cost a bounded number of requests', () => {
  const life = new Life((opener) => opener.includes('broken'));
  const wakes = [
    { schedule: SECONDS_5, prompt: 'broken', key: 'fails' },
    { schedule: SECONDS_5, prompt: 'go on', key: 'goes on', by: { rank: 'agent', name: 'coder' } },
    {
      schedule: SECONDS_5,
      prompt: 'look',
      key: 'keeps away',
      skipWhenActiveMs: LIMITS.wakeHorizonMs,
      expiresAtMs: NOW_MS + 600_000,
    },
  ];
  for (const wake of wakes) life.apply(schedules(wake));
  life.apply(receives('m1', { text: 'broken' }));
  life.apply(receives('m1', { text: 'broken' }));
  life.liveFor(HOURS_29_MS);
  // The message, the failures that a wake may have, and as often as an agent may wake itself; the third never ran.
  const bound = 1 + LIMITS.wakeFailures + LIMITS.selfMadeFires;
  expect({ turns: life.state.turnCount, requests: life.requests }).toEqual({ turns: bound, requests: bound });
  expect(life.state.wakes.map(({ key, disabled }) => [key, disabled !== null])).toEqual([
    ['fails', true],
    ['goes on', true],
  ]);
  expect(life.state.timerAtMs).toBeNull();
});

test('a wake of a person runs once for each of its due times, whoever asks for the timer', () => {
  const life = new Life(() => false);
  life.apply(schedules({ schedule: { kind: 'interval', everyMs: 3_600_000 }, prompt: 'look' }));
  life.liveFor(HOURS_29_MS);
  expect({ turns: life.state.turnCount, requests: life.requests }).toEqual({ turns: 29, requests: 29 });
});
