import type { ComputedFires, ComputeFiresInput, WakeSchedule } from '../../protocol/wakes.js';
import { computeFires } from '../../activities/compute-fires.js';
import { occurrenceOf, sourceOf } from '../../protocol/fates.js';
import type { SessionState } from '../../workflows/session/state.js';
import type { Chance } from './session-chance.js';

const MALFORMED = [undefined, null, 5, {}, { wake: 3 }, { prompt: 'x' }, { schedule: { kind: 'cron' }, prompt: 'x' }];

/** What people and models ask of wakes: sensible, impossible and malformed requests. */
export class WakeChance {
  constructor(private readonly chance: Chance) {}

  schedule(nowMs: number): unknown {
    if (this.chance.happens(0.1)) return this.chance.oneOf(MALFORMED);
    return {
      schedule: this.when(nowMs),
      prompt: 'look',
      ...this.terms(nowMs),
      ...(this.chance.happens(0.5) ? { key: this.chance.oneOf(['a', 'b', 'c']) } : {}),
      by: { rank: this.chance.oneOf(['agent', 'person']) },
    };
  }

  edit(state: SessionState, nowMs: number): unknown {
    if (this.chance.happens(0.1)) return this.chance.oneOf(MALFORMED);
    const schedule = this.chance.happens(0.5) ? { schedule: this.when(nowMs) } : {};
    return { wake: this.name(state), ...schedule, ...this.terms(nowMs) };
  }

  cancel(state: SessionState): unknown {
    if (this.chance.happens(0.1)) return this.chance.oneOf(MALFORMED);
    const by = { rank: this.chance.oneOf(['agent', 'person']) };
    return { wake: this.name(state), stopRunning: this.chance.happens(0.5), by };
  }

  /** By this machine's zones; sometimes what no sound worker would say. */
  compute(input: ComputeFiresInput): ComputedFires {
    const result = computeFires(input, { defaultZone: 'UTC', channels: new Set(['hook', 'other']) });
    if (result.kind === 'error' || !this.chance.happens(0.02)) return result;
    return this.chance.oneOf<ComputedFires>([
      { ...result, fires: result.fires.map((fire) => ({ ...fire, dueMs: input.afterMs })) },
      { ...result, fires: [] },
      { kind: 'error', problem: 'no zones here' },
    ]);
  }

  private name({ wakes, queue, turn }: SessionState): string {
    const sources = [...queue.map(({ message }) => message.id), turn ? turn.itemIds[0] : undefined];
    const pending = sources.flatMap((id) => (id === undefined ? [] : occurrenceOf(sourceOf(id).key).id));
    return this.chance.oneOf(['a', 'none', ...wakes.map(({ id }) => id), ...pending]);
  }

  private when(nowMs: number): WakeSchedule {
    return this.chance.oneOf<WakeSchedule>([
      { kind: 'once', inMs: this.chance.between(1, 600_000) },
      { kind: 'once', atMs: nowMs + this.chance.between(-1_000, 600_000) },
      { kind: 'interval', everyMs: this.chance.oneOf([1_000, 5_000, 60_000, 600_000]) },
      { kind: 'cron', expression: this.chance.oneOf(['* * * * *', '*/5 2 * * *', '0 0 30 2 *', 'nonsense']) },
    ]);
  }

  private terms(nowMs: number): object {
    const perhaps = (probability: number, terms: object) => (this.chance.happens(probability) ? terms : {});
    return {
      ...perhaps(0.2, { zone: this.chance.oneOf(['Europe/Paris', 'Mars/Base']) }),
      ...perhaps(0.2, { expiresAtMs: nowMs + this.chance.between(-1_000, 3_600_000) }),
      ...perhaps(0.3, { missed: this.chance.oneOf(['skip', 'fire_once']) }),
      ...perhaps(0.1, { maxLatenessMs: 1_000 }),
      ...perhaps(0.2, { jitterMs: 30_000 }),
      ...perhaps(0.2, { skipWhenActiveMs: this.chance.oneOf([0, 60_000]) }),
      ...perhaps(0.2, { target: { kind: 'new', name: 'report-{due}' } }),
    };
  }
}
