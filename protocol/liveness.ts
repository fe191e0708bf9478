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

/** What a session schedules its calls by; a worker whose agent says otherwise answers `ProfileChanged`. */
export interface Profile {
  budgetsMs: PhaseBudgets;
  /** Tries of one turn's calls beyond the first, shared by all calls of the turn. */
  resumesPerTurn: number;
  /** Model calls of one turn. */
  stepsPerTurn: number;
  /** Milliseconds that one turn may wait for a provider that is busy. */
  providerWaitPerTurnMs: number;
  /** Dispatches of one turn after a lost or draining worker. */
  redispatchesPerTurn: number;
}

/** What a session assumes until a worker has said otherwise. */
export const DEFAULT_PROFILE: Profile = {
  budgetsMs: DEFAULT_PHASE_BUDGETS_MS,
  resumesPerTurn: 2,
  stepsPerTurn: 200,
  providerWaitPerTurnMs: 15 * 60_000,
  redispatchesPerTurn: 20,
};

/** Two profiles are the same when their versions are; readable, so that a history shows what a call was scheduled by. */
export function profileVersion(profile: Profile): string {
  const { budgetsMs, resumesPerTurn, stepsPerTurn, providerWaitPerTurnMs, redispatchesPerTurn } = profile;
  const budgets = PHASES.map((phase) => budgetsMs[phase]).join(',');
  return `${budgets}/${resumesPerTurn}/${stepsPerTurn}/${providerWaitPerTurnMs}/${redispatchesPerTurn}`;
}
