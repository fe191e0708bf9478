/**
 * Phases of a model try. Every moment of a try, from its first instruction to its last write, belongs to exactly one.
 */
export const PHASES = ['setup', 'connect', 'prefill', 'reasoning', 'thinkingGap', 'streaming', 'finish'] as const;
export type Phase = (typeof PHASES)[number];

/** Milliseconds without progress that each phase may last; `streaming` is the heartbeat timeout itself. */
export type PhaseBudgets = Readonly<Record<Phase, number>>;

export const DEFAULT_PHASE_BUDGETS_MS: PhaseBudgets = {
  setup: 60_000,
  connect: 60_000,
  prefill: 180_000,
  reasoning: 180_000,
  thinkingGap: 180_000,
  streaming: 60_000,
  finish: 60_000,
};

/** A try's newest sign of real progress, carried in heartbeat details and shown in the view. */
export interface Progress {
  phase: Phase;
  /** Milliseconds since the epoch, by the worker's clock. */
  atMs: number;
  charsReceived: number;
}

/** A number that a user may set: its default, what is allowed, and what it means. */
export interface Knob {
  readonly default: number;
  readonly least: number;
  readonly most: number;
  readonly description: string;
}

/**
 * What bounds a turn. One line here makes a knob of it: a field of the profile, of agent files, and of the configuration file's
 * `liveness` section. New ones go to the end.
 */
export const TURN_LIMITS = {
  resumesPerTurn: {
    ...{ default: 2, least: 0, most: 100 },
    description:
      "Tries of one turn's model calls beyond the first, shared by all calls of the turn. 0: never try again.",
  },
  stepsPerTurn: { default: 200, least: 1, most: 10_000, description: 'Model calls of one turn.' },
  providerWaitPerTurnMs: {
    ...{ default: 15 * 60_000, least: 0, most: 24 * 60 * 60_000 },
    description: 'Milliseconds that one turn may wait for a provider that is busy. 0: never wait.',
  },
  redispatchesPerTurn: {
    ...{ default: 20, least: 0, most: 1_000 },
    description: 'Dispatches of one turn after a worker that was lost or was draining.',
  },
} as const satisfies Record<string, Knob>;

export type TurnLimits = { [Name in keyof typeof TURN_LIMITS]: number };
export const TURN_LIMIT_NAMES = Object.keys(TURN_LIMITS) as (keyof TurnLimits)[];

/** What a session schedules its calls by; a worker whose agent says otherwise answers `ProfileChanged`. */
export interface Profile extends TurnLimits {
  budgetsMs: PhaseBudgets;
}

/** What a session assumes until a worker has said otherwise. */
export const DEFAULT_PROFILE: Profile = {
  budgetsMs: DEFAULT_PHASE_BUDGETS_MS,
  ...turnLimits((name) => TURN_LIMITS[name].default),
};

/** Every limit, each as `valueOf` says. */
export function turnLimits(valueOf: (name: keyof TurnLimits) => number): TurnLimits {
  return Object.fromEntries(TURN_LIMIT_NAMES.map((name) => [name, valueOf(name)])) as TurnLimits;
}

/** Two profiles are the same when their versions are; readable, so that a history shows what a call was scheduled by. */
export function profileVersion(profile: Profile): string {
  const budgets = PHASES.map((phase) => profile.budgetsMs[phase]).join(',');
  return [budgets, ...TURN_LIMIT_NAMES.map((name) => profile[name])].join('/');
}
