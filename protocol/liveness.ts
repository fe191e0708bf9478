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
  /** Milliseconds that a call may wait for a worker with a free slot before that is told and the call dispatched anew. */
  scheduleToStartMs: number;
  /** Milliseconds that one turn may wait for workers to take its calls. */
  capacityWaitPerTurnMs: number;
  /** The models that a turn may use, first choice first; absent when there is one alone. */
  links?: readonly ModelLink[];
}

/** One model of a fallback chain. */
export interface ModelLink {
  /** What the model is called in outputs and entries. */
  model: string;
  budgetsMs: PhaseBudgets;
}

/** What a session assumes until a worker has said otherwise. */
export const DEFAULT_PROFILE: Profile = {
  budgetsMs: DEFAULT_PHASE_BUDGETS_MS,
  resumesPerTurn: 2,
  stepsPerTurn: 200,
  providerWaitPerTurnMs: 15 * 60_000,
  redispatchesPerTurn: 20,
  scheduleToStartMs: 60_000,
  capacityWaitPerTurnMs: 30 * 60_000,
};

/** How long a busy provider is waited for, in milliseconds, whoever waits: a session, or all sessions of an account. */
export const PROVIDER_WAITS_MS = {
  shortest: 1_000,
  /** Of a wait that doubles because the provider named no time. */
  longestBackoff: 60_000,
  /** A provider that names a longer time is believed up to here. */
  longestNamed: 60 * 60_000,
} as const;

/** The table of the model at this place of the chain. */
export function budgetsOfLink({ budgetsMs, links }: Profile, link = 0): PhaseBudgets {
  return links?.[link]?.budgetsMs ?? budgetsMs;
}

/** Two profiles are the same when their versions are; readable, so that a history shows what a call was scheduled by. */
export function profileVersion(profile: Profile): string {
  const { budgetsMs, resumesPerTurn, stepsPerTurn, providerWaitPerTurnMs, redispatchesPerTurn } = profile;
  const knobs = [resumesPerTurn, stepsPerTurn, providerWaitPerTurnMs, redispatchesPerTurn];
  return [budgetsText(budgetsMs), ...knobs, ...laterKnobs(profile)].join('/');
}

/** Knobs that came later count only where they are used: sessions know the other profiles by their older versions. */
function laterKnobs({ scheduleToStartMs, capacityWaitPerTurnMs, links = [] }: Profile): string[] {
  const isDefault =
    scheduleToStartMs === DEFAULT_PROFILE.scheduleToStartMs &&
    capacityWaitPerTurnMs === DEFAULT_PROFILE.capacityWaitPerTurnMs;
  return [
    ...(isDefault ? [] : [`capacity ${scheduleToStartMs},${capacityWaitPerTurnMs}`]),
    ...links.map((link) => `${link.model} ${budgetsText(link.budgetsMs)}`),
  ];
}

function budgetsText(budgetsMs: PhaseBudgets): string {
  return PHASES.map((phase) => budgetsMs[phase]).join(',');
}
