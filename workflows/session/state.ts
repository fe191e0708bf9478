import type { AppendItem, CallModelInput, RecordInput, ToolCallRef, TurnOutcome } from '../../protocol/calls.js';
import type { Delivery, Undelivered } from '../../protocol/channels.js';
import type { Fate, ItemRecord, OutcomeKind, TurnSource } from '../../protocol/fates.js';
import { DEFAULT_PROFILE, type Profile, type Stall } from '../../protocol/liveness.js';
import type { FailureType } from '../../protocol/failures.js';
import type { Message, StoredTextPart, TextPart } from '../../protocol/messages.js';
import type { NewOutput } from '../../protocol/outputs.js';
import { UNKNOWN_USAGE, type Usage } from '../../protocol/usage.js';
import type { TurnProgress } from '../../protocol/view.js';
import type {
  Fire,
  MissedFireRule,
  TimedSchedule,
  WakeActor,
  WakeCounts,
  WakeRank,
  WakeTarget,
} from '../../protocol/wakes.js';

/**
 * The session's control state: small plain JSON, carried by continue-as-new and read by the `state` query. It outlives the code
 * that wrote it, so `upgradeState` reads every older version.
 */
export interface SessionState {
  version: 1;
  sessionId: string;
  /** First part of every id made here; another one when the session id is started anew, so that ids never collide in the store. */
  chain: string;
  agent: string;
  profile: Profile;
  /** Model of the last completed call. */
  model: string | null;
  /** Why nothing runs although items wait; `null` in a healthy session. */
  suspended: Suspension | null;
  /** No turn opens, and no call is asked again. */
  draining: boolean;
  /** How often that changed, and how many of the changes were handed over to the store. */
  drainChanges: { made: number; told: number };
  queue: QueuedItem[];
  turn: Turn | null;
  /** Inputs of a turn that ended before a call took them in: the next call appends them first. */
  carried: AppendItem[];
  /** Outputs that no activity has taken yet. */
  outbox: NewOutput[];
  /** Notices left out because the outbox was full. */
  noticesLeftOut: number;
  /** Outcomes and fates that no activity has taken yet. */
  unrecorded: { outcomes: TurnOutcome[]; items: ItemRecord[] };
  /** What the `record` activity in flight was given; `null` when none is. */
  recording: Pick<RecordInput, 'outputs' | 'outcomes' | 'items' | 'drain' | 'undelivered'> | null;
  head: string | null;
  /** Newest item ids, for dedupe without the store; every pending item is among them. */
  seen: SeenItem[];
  turnCount: number;
  outputCount: number;
  usage: Usage;
  lastOutcome: { turnId: string; outcome: OutcomeKind; reason: string | null } | null;
  /** Oldest first. A wake without further due times is gone. */
  wakes: Wake[];
  /** How many were made. */
  wakeCount: number;
  /** When the newest message came; `null` before the first. */
  personAtMs: number | null;
  /** How often wakes that the agent made have fired since word came from outside. */
  selfMadeFires: number;
  /** Keys of cancelled wakes, the oldest removal first. */
  removedKeys: RemovedKey[];
  /** Due times that are being computed. */
  computing: FireRequest[];
  /** Occurrences on their way to sessions of their own. */
  starting: SessionStart[];
  /** Where outcomes go besides the journal, unless what opens the turn says otherwise. */
  channel: string | null;
  /** On their way to their channels, the oldest first. */
  deliveries: PendingDelivery[];
  /** What channels did not take, and no activity has taken yet. */
  undelivered: Undelivered[];
  /** Nothing starts any more; the workflow ends as soon as everything is recorded. */
  closed: boolean;
  /** Instant that the one timer is armed for. */
  timerAtMs: number | null;
}

export interface Suspension {
  reason: 'transcript_missing' | 'agent_unavailable';
  message: string;
}

export interface QueuedItem {
  message: Message;
  contentHash: string;
  /** Its sender was told that it waits or runs. */
  announced: boolean;
}

export interface Wake extends WakeSettings {
  id: string;
  key: string | null;
  createdBy: Required<WakeActor>;
  createdAtMs: number;
  /** Counts the edits: due times computed for another revision mean nothing. */
  revision: number;
  /** Next due times, ascending, each after `lastDueMs`. */
  fires: Fire[];
  /** The newest due time that is over, whatever became of it. */
  lastDueMs: number | null;
  /** `fires` is to be computed again. */
  needsFires: boolean;
  /** Why it does not fire although it is kept. */
  disabled: string | null;
  /** The due times that it goes on with, when it is disabled only until word comes from outside. */
  paused: Fire[] | null;
  /** Due times that met an occurrence which has not ended, and were not told of yet. */
  coalesced: { count: number; firstDueMs: number; lastDueMs: number } | null;
  counts: WakeCounts;
}

/** What the maker of a wake decides. */
export interface WakeSettings {
  schedule: TimedSchedule;
  zone: string;
  prompt: TextPart | StoredTextPart;
  expiresAtMs: number | null;
  missed: MissedFireRule;
  maxLatenessMs: number | null;
  jitterMs: number;
  target: WakeTarget;
  skipWhenActiveMs: number | null;
  channel: string | null;
}

export interface RemovedKey {
  key: string;
  rank: WakeRank;
}

/** Due times on their way: of a wake that fires, or of one that somebody waits to see scheduled. */
export type FireRequest = { id: string; afterMs: number } & (
  { kind: 'refill'; wakeId: string; revision: number } | { kind: 'draft'; draft: WakeDraft }
);

/** A wake that is made or edited once its due times are known. */
export interface WakeDraft {
  /** The wake that is edited; `null` to make one, or to replace the one with the key. */
  wakeId: string | null;
  key: string | null;
  /** Without a zone until the worker has said which is its default. */
  settings: Omit<WakeSettings, 'zone'> & { zone: string | null };
  by: Required<WakeActor>;
  askedAtMs: number;
}

export interface PendingDelivery extends Delivery {
  /** When it was first handed over, in milliseconds since the epoch. */
  sinceMs: number | null;
  /** An activity of this run has it. */
  isOut: boolean;
}

export interface SessionStart {
  /** The key of the occurrence. */
  key: string;
  sessionId: string;
  lateMs: number;
}

export interface SeenItem {
  id: string;
  contentHash: string;
  fate: Fate | 'pending';
  turnId: string | null;
}

export interface Turn {
  id: string;
  source: TurnSource;
  silent: boolean;
  /** Where its outcome goes besides the journal. */
  channel?: string;
  startedAtMs: number;
  /** What a failed start puts back into the queue. */
  opener: QueuedItem;
  /** Items whose fate is this turn's: the opener, then those steered into it. */
  itemIds: string[];
  /** Messages that join at the next step boundary. */
  steers: QueuedItem[];
  /** What the next model call appends. */
  next: AppendItem[];
  step: Step;
  callCount: number;
  usage: Usage;
  /** How its newest call failed; absent when it did not, and in turns of older versions. */
  trouble?: FailureType | 'HeartbeatTimeout' | 'ScheduleToStartTimeout' | 'OtherTimeout' | 'Unknown';
  /** The newest semantic step; unknown in states of the first version. */
  progress?: TurnProgress;
  /** Set by what ends the turn. */
  stall?: Stall;
  /** Models of the chain that this turn has left behind: as many as its place in the chain. */
  failedLinks: FailedLink[];
  /** Resumes are those of the present model. */
  used: {
    resumes: number;
    redispatches: number;
    providerWaitMs: number;
    capacityWaitMs: number;
    profileChanges: number;
    storeWaits: number;
  };
  /** Instant up to which waiting for capacity is counted: tools that wait side by side wait once. 0 = none yet. */
  capacityWaitedUntilMs: number;
}

export interface FailedLink {
  model: string;
  reason: string;
}

/** Where a running turn stands. Only `calling` and `tools` have activities in flight. */
export type Step =
  | { kind: 'toDispatch' }
  /** `lackedCapacity`: no worker took the dispatch before this one. */
  | { kind: 'calling'; call: Call; lackedCapacity?: true }
  | { kind: 'waiting'; call: Call; untilMs: number; why: WaitReason }
  | { kind: 'tools'; calls: ToolStep[] };

export type WaitReason = 'model_busy' | 'store_unavailable';

/** A logical model call; `dispatch` grows with each redispatch of the same call. */
export interface Call extends Pick<CallModelInput, 'callId' | 'dispatch' | 'append' | 'outputs'> {
  /** When it was dispatched first, in milliseconds since the epoch; unknown in states of the first version. */
  sinceMs?: number;
  /** Tries of the dispatches before this one. */
  tries?: number;
  /** Runs alone, because it is under suspicion of killing its workers. */
  isApart?: true;
}

export interface ToolStep extends ToolCallRef {
  /** Above 1 when no worker took the dispatches before. */
  dispatch: number;
  done: boolean;
  /** Why no result is to be expected; `null` when the activity reported. */
  lost: string | null;
  /** No worker ever took it: there was no effect. */
  neverRan?: true;
  /** Runs alone, because it is under suspicion of killing its workers. */
  isApart?: true;
}

export function openSession(input: {
  sessionId: string;
  chain: string;
  agent: string;
  channel?: string | null;
}): SessionState {
  return {
    version: 1,
    ...NOTHING_OF_CHANNELS,
    ...input,
    profile: DEFAULT_PROFILE,
    model: null,
    suspended: null,
    draining: false,
    drainChanges: { made: 0, told: 0 },
    queue: [],
    turn: null,
    carried: [],
    outbox: [],
    noticesLeftOut: 0,
    unrecorded: { outcomes: [], items: [] },
    recording: null,
    head: null,
    seen: [],
    turnCount: 0,
    outputCount: 0,
    usage: UNKNOWN_USAGE,
    lastOutcome: null,
    ...NOTHING_OF_WAKES,
    timerAtMs: null,
  };
}

const NOTHING_OF_WAKES = {
  wakes: [],
  wakeCount: 0,
  personAtMs: null,
  selfMadeFires: 0,
  removedKeys: [],
  computing: [],
  starting: [],
  closed: false,
};

type LaterOfWake = 'skipWhenActiveMs' | 'channel' | 'paused' | 'coalesced';
type StoredWake = Omit<Wake, LaterOfWake> & Partial<Pick<Wake, LaterOfWake>>;
type StoredRequest =
  | Extract<FireRequest, { kind: 'refill' }>
  | (Omit<Extract<FireRequest, { kind: 'draft' }>, 'draft'> & { draft: StoredDraft });
type LaterSetting = 'skipWhenActiveMs' | 'channel';
type StoredDraft = Omit<WakeDraft, 'settings'> & {
  settings: Omit<WakeDraft['settings'], LaterSetting> & Partial<Pick<WakeSettings, LaterSetting>>;
};

const NOTHING_OF_CHANNELS = { channel: null, deliveries: [], undelivered: [] };

type Later = 'draining' | 'drainChanges' | keyof typeof NOTHING_OF_WAKES | keyof typeof NOTHING_OF_CHANNELS;
type StoredTurn = Omit<Turn, LaterOfTurn | 'used'> &
  Partial<Pick<Turn, LaterOfTurn>> & { used: Omit<Turn['used'], LaterUsed> & Partial<Turn['used']> };
type LaterOfTurn = 'failedLinks' | 'capacityWaitedUntilMs';
type LaterUsed = 'capacityWaitMs';
type UpgradedInside = 'turn' | 'profile' | 'wakes' | 'computing';
export type StoredState = Omit<SessionState, Later | UpgradedInside> &
  Partial<Pick<SessionState, Exclude<Later, UpgradedInside>>> & {
    turn: StoredTurn | null;
    profile: Partial<Profile>;
    wakes?: StoredWake[];
    computing?: StoredRequest[];
  };

/** Reads a state that any version wrote: fields that came later have the value that nothing had happened to. */
export function upgradeState(stored: StoredState): SessionState {
  return {
    draining: false,
    drainChanges: { made: 0, told: 0 },
    ...NOTHING_OF_WAKES,
    ...NOTHING_OF_CHANNELS,
    ...stored,
    turn: stored.turn && upgradeTurn(stored.turn),
    wakes: (stored.wakes ?? []).map((wake) => ({
      skipWhenActiveMs: null,
      channel: null,
      paused: null,
      coalesced: null,
      ...wake,
    })),
    computing: (stored.computing ?? []).map(upgradeRequest),
    profile: { ...DEFAULT_PROFILE, ...stored.profile },
  };
}

function upgradeRequest(request: StoredRequest): FireRequest {
  if (request.kind === 'refill') return request;
  const { draft } = request;
  return { ...request, draft: { ...draft, settings: { skipWhenActiveMs: null, channel: null, ...draft.settings } } };
}

function upgradeTurn(stored: StoredTurn): Turn {
  return { failedLinks: [], capacityWaitedUntilMs: 0, ...stored, used: { capacityWaitMs: 0, ...stored.used } };
}
