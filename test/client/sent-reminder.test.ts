import type { Disposition } from '../../protocol/fates.js';
import type { Output, OutputBody } from '../../protocol/outputs.js';
import type { SessionView } from '../../protocol/view.js';
import { JournalWatch } from '../../client/journal-watch.js';
import { SentReminder, type ReminderState } from '../../client/sent-reminder.js';
import type { SessionStore, StoredDelivery, StoredOutcome } from '../../store/session-store.js';
import { until } from '../support/until.js';

const SESSION = 'acme/s1';
const SOURCE = { kind: 'reminder', key: 'r1:1000' } as const;
const ENDED = { turnId: 't1', outcome: 'completed', text: 'stretched' } as StoredOutcome;

/** A session that is nothing but its journal and its view. */
class Scene {
  readonly outputs: Output[] = [];
  outcome: StoredOutcome | null = ENDED;
  delivery: Pick<StoredDelivery, 'state' | 'attempts' | 'problem'> | null = null;
  view: () => Promise<Partial<SessionView>> = () => Promise.resolve({ turn: null, draining: false, suspended: null });
  isRunning = () => Promise.resolve(true);
  private readonly store = {
    lastSeqs: () => Promise.resolve(new Map([[SESSION, this.outputs.length]])),
    readOutputs: ({ afterSeq }: { afterSeq: number }) => Promise.resolve(this.outputs.slice(afterSeq)),
    findOutcome: () => Promise.resolve(this.outcome),
    findDelivery: () => Promise.resolve(this.delivery),
  } as unknown as SessionStore;
  readonly watch = new JournalWatch(this.store);

  writes(...bodies: OutputBody[]): this {
    for (const body of bodies) this.outputs.push({ ...body, seq: this.outputs.length + 1, atMs: Date.now() });
    return this;
  }

  /** The reminder, which came when the journal held so many outputs. */
  reminder(observeMs = 60_000, fromSeq = 0, channel: { channel?: string } = {}): SentReminder {
    const sessions = { state: () => this.view() as Promise<SessionView>, isRunning: () => this.isRunning() };
    const identity = { sessionId: SESSION, reminderId: 'r1', dueMs: 1_000, fromSeq, observeMs, ...channel };
    return new SentReminder(sessions, { store: this.store, watch: this.watch }, identity);
  }
}

const received = (disposition: Disposition, reminderId = 'r1', dueMs = 1_000): OutputBody => ({
  ...{ kind: 'ReminderReceived', reminderId, dueMs, disposition },
});
const started = { kind: 'TurnStarted', turnId: 't1', source: SOURCE, silent: false, why: 'reminder' } as const;
const ended = { kind: 'TurnEnded', turnId: 't1', source: SOURCE } as unknown as OutputBody;
const other = { ...started, turnId: 't0', source: { kind: 'message', key: 'm1' } } as const;
const delta = { kind: 'TextDelta', turnId: 't0', callId: 'c', try: { dispatch: 1, attempt: 1 }, text: 'x' } as const;
const suspended = { kind: 'Notice', code: 'session_suspended', message: 'x', isCallBoundary: false } as const;

async function statesOf(reminder: SentReminder): Promise<ReminderState[]> {
  const states: ReminderState[] = [];
  for await (const state of reminder.observe()) states.push(state);
  return states;
}

test('its states come in order, each once, and end with the delivery', async () => {
  const queued = received({ kind: 'queued', position: 2 });
  const scene = new Scene().writes(other, queued, received({ kind: 'started', turnId: 't1' }), started, ended);
  await expect(statesOf(scene.reminder())).resolves.toEqual([
    { kind: 'accepted' },
    { kind: 'deferred', position: 2, waitingFor: 'turns' },
    { kind: 'running', turnId: 't1' },
    { kind: 'delivered', turnId: 't1', outcome: ENDED },
  ]);
  expect(scene.watch.waiting).toBe(0);
});

test('what other reminders and turns are told is not its own', async () => {
  const foreign = received({ kind: 'refused', reason: 'session_busy', message: 'busy' }, 'r2');
  const earlier = received({ kind: 'refused', reason: 'session_busy', message: 'busy' }, 'r1', 999);
  const scene = new Scene().writes(foreign, earlier, started, ended);
  await expect(scene.reminder().placed()).resolves.toEqual({ kind: 'running', turnId: 't1' });
});

test('a turn that ends otherwise is a failure with its reason', async () => {
  const scene = new Scene().writes(started, ended);
  scene.outcome = { ...ENDED, outcome: 'failed', reason: 'the provider refused' };
  await expect(scene.reminder().outcome()).resolves.toEqual({
    ...{ kind: 'failed', reason: 'the provider refused', turnId: 't1' },
  });
  scene.outcome = null;
  await expect(scene.reminder().outcome()).resolves.toMatchObject({ reason: expect.stringContaining('not in this') });
});

test.each<[string, Disposition, Partial<ReminderState>]>([
  ['has its turn', { kind: 'duplicate', fate: 'pending', turnId: 't1', contentDiffers: false }, { kind: 'running' }],
  ['waits', { kind: 'duplicate', fate: 'pending', turnId: null, contentDiffers: false }, { kind: 'deferred' }],
  ['was answered', { kind: 'duplicate', fate: 'answered', turnId: 't1', contentDiffers: false }, { kind: 'delivered' }],
  ['expired', { kind: 'duplicate', fate: 'expired', turnId: null, contentDiffers: false }, { kind: 'expired' }],
  [
    'was dropped',
    { kind: 'duplicate', fate: 'dropped', turnId: null, contentDiffers: false },
    { kind: 'failed', reason: 'it was dropped' },
  ],
  ['joined a turn', { kind: 'steered', turnId: 't1' }, { kind: 'running', turnId: 't1' }],
])('a repeat learns that the first one %s', async (_, disposition, state) => {
  await expect(new Scene().writes(received(disposition)).reminder().placed()).resolves.toMatchObject(state);
});

test.each([
  ['session_busy', 'session_busy'],
  ['session_closed', 'session_closed'],
  ['queue_full', 'refused'],
] as const)('a refusal %s is an error %s, and nothing goes on being observed', async (reason, code) => {
  const scene = new Scene().writes(received({ kind: 'refused', reason, message: 'no' }));
  await expect(scene.reminder().outcome()).rejects.toMatchObject({ code, message: 'no' });
  expect(scene.watch.waiting).toBe(0);
});

describe('a session that waits for a person', () => {
  const queued = received({ kind: 'queued', position: 1 });

  test.each([
    ['drains', { draining: true, suspended: null }],
    ['is suspended', { draining: false, suspended: { reason: 'x', message: 'x' } }],
  ])('says so of what waits while it %s', async (_, view) => {
    const scene = new Scene().writes(queued);
    scene.view = () => Promise.resolve({ turn: null, ...view });
    await expect(scene.reminder().placed()).resolves.toMatchObject({ position: 1, waitingFor: 'person' });
  });

  test('says so when it is suspended meanwhile, and without a worker nobody knows', async () => {
    const scene = new Scene().writes(queued, suspended, started, ended);
    scene.view = () => Promise.reject(new Error('no worker'));
    await expect(statesOf(scene.reminder())).resolves.toMatchObject([
      { kind: 'accepted' },
      { waitingFor: 'turns' },
      { waitingFor: 'person', position: null },
      { kind: 'running' },
      { kind: 'delivered' },
    ]);
  });
});

describe('the deadline', () => {
  const rejection = (reminder: SentReminder) => reminder.outcome().catch((error: unknown) => error);

  test('ends an observation of a session in which nothing moves, and leaves nothing registered', async () => {
    const scene = new Scene();
    const observed = rejection(scene.reminder(100));
    await until('the observer to wait', () => scene.watch.waiting === 1);
    await expect(observed).resolves.toMatchObject({ code: 'delivery_not_observed' });
    expect(scene.watch.waiting).toBe(0);
  });

  test('counts from the newest progress of the session, whichever turn makes it', async () => {
    const scene = new Scene().writes(other);
    let isOver = false;
    const observed = rejection(scene.reminder(600)).finally(() => (isOver = true));
    for (let time = 0; time < 8; time++) {
      await new Promise((resolve) => setTimeout(resolve, 150));
      scene.writes(delta);
    }
    expect(isOver).toBe(false);
    await expect(observed).resolves.toMatchObject({ code: 'delivery_not_observed' });
  });

  test('does not count from warnings, notices and what others send', async () => {
    const scene = new Scene();
    let isOver = false;
    const observed = rejection(scene.reminder(200)).finally(() => (isOver = true));
    const writes = setInterval(() => scene.writes(suspended, received({ kind: 'queued', position: 1 }, 'r2')), 20);
    await until('the observation to end', () => isOver, 10_000).finally(() => clearInterval(writes));
    await expect(observed).resolves.toMatchObject({ code: 'delivery_not_observed' });
  });

  test('counts from the progress of a call that has no output yet', async () => {
    const scene = new Scene();
    const lastProgress = { kind: 'content', phase: 'reasoning', atMs: Date.now() + 1_000 } as const;
    let looks = 0;
    scene.view = () => {
      looks++;
      return Promise.resolve({ turn: { lastProgress } as SessionView['turn'] });
    };
    await expect(rejection(scene.reminder(100))).resolves.toMatchObject({ code: 'delivery_not_observed' });
    expect(looks).toBeGreaterThan(1);
  });
});

test('a session that ended is told before the deadline', async () => {
  const scene = new Scene();
  scene.isRunning = () => Promise.resolve(false);
  await expect(scene.reminder(1_000).outcome()).rejects.toMatchObject({ code: 'session_ended' });
});

test('a reader that gives up, or leaves, leaves nothing behind', async () => {
  const scene = new Scene();
  const impatient = scene.reminder().outcome({ signal: AbortSignal.timeout(50) });
  await expect(impatient).rejects.toMatchObject({ code: 'wait_timeout' });
  scene.writes(started);
  await expect(scene.reminder().placed()).resolves.toMatchObject({ kind: 'running' });
  expect(scene.watch.waiting).toBe(0);
});

test('25 observers of one session end with nothing registered', async () => {
  const scene = new Scene();
  const all = Promise.all(Array.from({ length: 25 }, () => scene.reminder().outcome()));
  await until('all to wait', () => scene.watch.waiting === 25);
  scene.writes(started, ended);
  await all;
  expect(scene.watch.waiting).toBe(0);
});

describe('with a channel', () => {
  const scene = () => new Scene().writes(started, ended);
  const HOOK = { channel: 'hook' };

  test('it is delivered when the channel has its outcome, not before', async () => {
    const waiting = scene();
    let end: ReminderState | null = null;
    const observed = waiting
      .reminder(60_000, 0, HOOK)
      .outcome()
      .then((state) => (end = state));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(end).toBeNull();
    waiting.delivery = { state: 'pending', attempts: 0, problem: null };
    await expect(observed).resolves.toMatchObject({ kind: 'delivered' });
  });

  test('a receiver that refuses is the business of the channel', async () => {
    const refused = scene();
    refused.delivery = { state: 'dead', attempts: 3, problem: 'status 410' };
    await expect(refused.reminder(60_000, 0, HOOK).outcome()).resolves.toMatchObject({ kind: 'delivered' });
  });

  test('that nobody serves, the observation ends with a word of its own', async () => {
    const unserved = scene();
    unserved.delivery = { state: 'dead', attempts: 0, problem: 'channel_not_registered: nobody' };
    const observed = unserved.reminder(60_000, 0, HOOK).outcome();
    await expect(observed).rejects.toMatchObject({ code: 'channel_not_registered' });
    await expect(observed).rejects.toThrow(/channel "hook": .*nobody/);
    expect(unserved.watch.waiting).toBe(0);
  });

  test('of which nothing is ever heard, it is not observed', async () => {
    await expect(scene().reminder(100, 0, HOOK).outcome()).rejects.toMatchObject({ code: 'delivery_not_observed' });
  });
});
