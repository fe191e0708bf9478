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

/** What a try has shown of itself so far. The store keeps it for the tries that follow. */
export interface Evidence {
  phase: Phase;
  /** Of text, reasoning and tool arguments. */
  charsReceived: number;
  /** Milliseconds from the sent request to the first content; `null` while there is none. */
  firstTokenMs: number | null;
}

/** A try's newest sign of real progress: its heartbeat details. */
export interface Progress extends Evidence {
  /** Whose it is: the server hands on the details of an earlier attempt when the last one sent none. */
  try: { dispatch: number; attempt: number };
  /** When it was, in milliseconds since the epoch by the worker's clock. */
  atMs: number;
  /** Milliseconds that the phase may last without progress, in this try. */
  budgetMs: number;
}

/** How the last call of a turn fell silent. */
export interface Stall {
  /** `null` when its worker stood still before it could say. */
  phase: Phase | null;
  /** Milliseconds without progress that the last try was allowed. */
  budgetMs: number;
  /** Tries of the call, the last one included. */
  tries: number;
  /** Milliseconds from the call's first dispatch to the end of its turn. */
  elapsedMs: number;
}

/**
 * Milliseconds that a resumed call may wait for its first content when a try before it had streamed some: a model that answered once is
 * known to be there, so it gets less than the full budget of a first try, and never more.
 */
export function promotedPrefillMs(budgetsMs: PhaseBudgets, firstTokenMs: number | null): number {
  return Math.min(budgetsMs.prefill, Math.max(budgetsMs.streaming, 2 * (firstTokenMs ?? 0)));
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
  scheduleToStartMs: {
    ...{ default: 60_000, least: 1_000, most: 24 * 60 * 60_000 },
    description:
      'Milliseconds that a call may wait for a worker with a free slot before that is told and the call dispatched anew.',
  },
  capacityWaitPerTurnMs: {
    ...{ default: 30 * 60_000, least: 1_000, most: 24 * 60 * 60_000 },
    description: 'Milliseconds that one turn may wait for workers to take its calls.',
  },
  channelWaitMs: {
    ...{ default: 60_000, least: 1_000, most: 24 * 60 * 60_000 },
    description: 'Milliseconds that the outcome of a turn may wait for a worker that serves its channel.',
  },
} as const satisfies Record<string, Knob>;

export type TurnLimits = { [Name in keyof typeof TURN_LIMITS]: number };
export const TURN_LIMIT_NAMES = Object.keys(TURN_LIMITS) as (keyof TurnLimits)[];

/** What a session schedules its calls by; a worker whose agent says otherwise answers `ProfileChanged`. */
export interface Profile extends TurnLimits {
  budgetsMs: PhaseBudgets;
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
  ...turnLimits((name) => TURN_LIMITS[name].default),
};

/** Every limit, each as `valueOf` says. */
export function turnLimits(valueOf: (name: keyof TurnLimits) => number): TurnLimits {
  return Object.fromEntries(TURN_LIMIT_NAMES.map((name) => [name, valueOf(name)])) as TurnLimits;
}

/**
 * Milliseconds that one attempt of any call may last in all. Demanded by the server, far beyond any real use, and never a liveness decision:
 * the heartbeat timeout is.
 */
export const TOTAL_LIMIT_MS = 24 * 60 * 60_000;

/** Milliseconds by which the server may notice a silence late, and wait before the next try. */
const DETECTION_SLACK_MS = 2_500;

/**
 * The longest that a turn can go without a sign, in milliseconds: every try of a call silent in the worst way, each phase of it to the end
 * of its budget, with every model of the chain. Then its end is reported. Waits that are told (provider, capacity, store) come on top.
 */
export function worstSilenceMs({ budgetsMs, links, resumesPerTurn }: Profile): number {
  const tables = links?.map((link) => link.budgetsMs) ?? [budgetsMs];
  return tables.reduce((total, table) => total + (1 + resumesPerTurn) * (worstTryMs(table) + DETECTION_SLACK_MS), 0);
}

function worstTryMs({ setup, connect, prefill, reasoning, thinkingGap, streaming, finish }: PhaseBudgets): number {
  return setup + connect + Math.max(prefill, reasoning, thinkingGap, streaming) + finish;
}

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
  const { resumesPerTurn, stepsPerTurn, providerWaitPerTurnMs, redispatchesPerTurn } = profile;
  const knobs = [resumesPerTurn, stepsPerTurn, providerWaitPerTurnMs, redispatchesPerTurn];
  return [budgetsText(profile.budgetsMs), ...knobs, ...laterKnobs(profile)].join('/');
}

/** Knobs that came later count only where they are used: sessions know the other profiles by their older versions. */
function laterKnobs({ scheduleToStartMs, capacityWaitPerTurnMs, channelWaitMs, links = [] }: Profile): string[] {
  const isDefault =
    scheduleToStartMs === DEFAULT_PROFILE.scheduleToStartMs &&
    capacityWaitPerTurnMs === DEFAULT_PROFILE.capacityWaitPerTurnMs;
  return [
    ...(isDefault ? [] : [`capacity ${scheduleToStartMs},${capacityWaitPerTurnMs}`]),
    ...(channelWaitMs === DEFAULT_PROFILE.channelWaitMs ? [] : [`channel ${channelWaitMs}`]),
    ...links.map((link) => `${link.model} ${budgetsText(link.budgetsMs)}`),
  ];
}

function budgetsText(budgetsMs: PhaseBudgets): string {
  return PHASES.map((phase) => budgetsMs[phase]).join(',');
}
