import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FAILURE_TYPES } from '../../../protocol/failures.js';
import { OUTCOMES } from '../../../protocol/fates.js';
import { DEFAULT_PROFILE, type Profile } from '../../../protocol/liveness.js';
import type { CallFailure } from '../../../workflows/session/events.js';
import type { SessionState } from '../../../workflows/session/state.js';
import {
  aChainOf,
  answers,
  asksFor,
  cancels,
  closes,
  computed,
  reminds,
  schedules,
  aSession,
  aSessionWith,
  after,
  drains,
  fails,
  type Happening,
  isRepeat,
  nudges,
  NOW_MS,
  opened,
  receives,
  recorded,
  resumes,
  stops,
  timerFires,
  toolEnds,
  toolStarves,
  undrains,
  watching,
  when,
} from '../../support/session-builders.js';
import { SimulatedSession } from '../../support/session-simulation.js';
import { toRow } from '../../support/session-transitions.js';

const page = readFileSync(join(import.meta.dirname, '../../../docs/session-states.md'), 'utf8');

/** The rows of the table under a heading, each cell a list of words. */
function tableUnder(heading: string): string[][][] {
  const [, section = ''] = page.split(`\n## ${heading}\n`);
  const lines = section
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) => line.split('|').slice(1, -1).map(wordsOf));
}

const wordsOf = (cell: string): string[] => cell.split(',').map((word) => word.replaceAll('`', '').trim());

/** Every single transition that a row of lists stands for. */
function expanded(row: string[][]): string[] {
  return row.reduce<string[]>(
    (sofar, words) => sofar.flatMap((head) => words.map((word) => (head ? `${head} | ${word}` : word))),
    [''],
  );
}

const documented = [...tableUnder('Transitions'), ...tableUnder('While a roll-over is due')].flatMap(expanded);

/** Every way that a call can fail, alone and with a message waiting. */
function failEveryWay(): void {
  const types: CallFailure['type'][] = [
    ...FAILURE_TYPES,
    'HeartbeatTimeout',
    'ScheduleToStartTimeout',
    'OtherTimeout',
    'Unknown',
  ];
  const strict = { redispatchesPerTurn: 0, providerWaitPerTurnMs: 0, capacityWaitPerTurnMs: 0 };
  const chained = aSessionWith(aChainOf('a', 'b'), receives('m1'));
  for (const start of [aSession(receives('m1')), aSessionWith(strict, receives('m1')), chained]) {
    for (const type of types) {
      for (const attempt of [1, null]) {
        after(start, fails(type, { attempt, profile: attempt === null ? null : DEFAULT_PROFILE }));
        after(
          start,
          receives('m2', { mode: 'queue' }),
          fails(type, { attempt, profile: attempt === null ? null : DEFAULT_PROFILE }),
        );
      }
    }
  }
}

/** What else a session can live through. */
function liveThroughTheRest(): void {
  const running = aSession(receives('m1'));
  const suspended = after(running, asksFor('look'), toolEnds(0), fails('AgentUnavailable'));
  after(running, fails('ModelBusy'), receives('m2'), opened, timerFires);
  when(after(running, fails('ModelBusy')), timerFires, { nowMs: NOW_MS });
  after(running, receives('m2'), answers(), answers({ outcome: 'failed', reason: 'cut' }));
  after(running, answers(), opened);
  after(suspended, opened, resumes());
  after(suspended, receives('m2'), fails('AgentUnavailable'), resumes());
  for (const others of [[], [receives('m2', { mode: 'queue' })]]) {
    after(running, ...others, isRepeat());
    after(running, ...others, answers());
    after(running, ...others, answers({ outcome: 'failed', reason: 'filtered' }));
    after(
      aSessionWith({ stepsPerTurn: 1 }, receives('m1')),
      ...others,
      asksFor('look', 'send'),
      receives('m3', { mode: 'queue' }),
      toolEnds(0),
      toolEnds(1),
    );
    after(
      aSessionWith({ stepsPerTurn: 1 }, receives('m1')),
      ...others,
      asksFor('look', 'send'),
      toolEnds(0),
      toolEnds(1),
    );
  }
}

function lackCapacityForTools(): void {
  const starving = (profile: Partial<Profile>, ...tools: string[]) =>
    after(aSessionWith(profile, receives('m1')), asksFor(...tools), toolStarves(0));
  starving({}, 'look');
  for (const others of [[], [receives('m2', { mode: 'queue' })]]) {
    starving({ capacityWaitPerTurnMs: 0 }, 'look', 'send');
    after(
      aSessionWith({ capacityWaitPerTurnMs: 0, stepsPerTurn: 1 }, receives('m1')),
      ...others,
      asksFor('look'),
      toolStarves(0),
    );
  }
  starving({ capacityWaitPerTurnMs: 0 }, 'look');
}

function stopAndDrainEverywhere(): void {
  const running = aSession(receives('m1'));
  const waiting = after(running, fails('ModelBusy'));
  for (const others of [[], [receives('m2', { mode: 'queue' })]]) {
    after(running, ...others, stops());
    after(running, asksFor('look', 'send'), ...others, stops());
    after(waiting, ...others, stops());
  }
  after(waiting, drains);
  after(running, drains, receives('m2'), fails('ModelBusy'), undrains);
  for (const type of ['StoreUnavailable', 'WorkerLost', 'SessionDraining'] as const)
    after(running, drains, fails(type));
  after(running, asksFor('look', 'send'), drains, receives('m2'), toolEnds(0), toolEnds(1), answers(), undrains);
  after(running, fails('AgentUnavailable'), drains, receives('m2'));
  after(running, fails('AgentUnavailable'), nudges);
}

const INTERVAL = { schedule: { kind: 'interval', everyMs: 60_000 }, prompt: 'look' };

function wakeAndCloseEverywhere(): void {
  const woken = aSession(schedules(INTERVAL), computed(60_000), recorded);
  const [running, waiting] = [aSession(receives('m1')), aSession(receives('m1'), fails('ModelBusy'))];
  const suspended = after(running, fails('AgentUnavailable'));
  after(after(woken, drains), timerFires);
  when(woken, nudges, { nowMs: woken.timerAtMs! });
  const turn = after(woken, timerFires, computed(120_000));
  const stopsIt = cancels({ wake: woken.wakes[0]!.id, stopRunning: true });
  for (const others of [[], [receives('m2', { mode: 'queue' })]]) {
    const ways = [turn, after(turn, asksFor('look', 'send')), after(turn, fails('ModelBusy'))];
    for (const state of ways) after(state, ...others, stopsIt);
  }
  const reminded = reminds({ reminderId: 'r1', dueMs: 1, prompt: 'x' });
  for (const state of [aSession(), running, waiting, after(running, asksFor('look')), suspended]) {
    after(state, reminded);
    after(state, closes(), receives('m9'), opened);
    after(state, schedules(INTERVAL), closes(), computed(60_000), closes());
  }
  after(running, asksFor('look'), toolEnds(0), fails('SessionClosed'));
}

function liveThroughRollOvers(): void {
  const due = (state: SessionState, ...happenings: Happening[]) =>
    happenings.reduce((sofar, happening) => when(sofar, happening, { rollOverDue: true }).state, state);
  const running = aSession(receives('m1'));
  after(due(aSession(), opened, receives('m1')), opened);
  due(running, receives('m2'), answers(), recorded, receives('m3'));
  due(running, asksFor('look', 'send'), toolEnds(0), toolEnds(1));
  after(due(after(running, asksFor('look')), toolEnds(0)), opened);
  for (const others of [[], [receives('m2', { mode: 'queue' })]]) {
    const last = aSessionWith({ stepsPerTurn: 1 }, receives('m1'), asksFor('look'), ...others);
    after(due(last, toolEnds(0)), opened);
  }
  due(running, fails('ModelBusy'), recorded);
  due(running, fails('AgentUnavailable'), recorded, resumes());
  due(running, fails('AgentUnavailable'), recorded, nudges);
  due(running, answers());
  due(running, fails('ModelBusy'), stops());
  due(running, asksFor('look'), stops());
  due(running, asksFor('look'), toolEnds(0), stops());
  due(running, stops());
  for (const state of [running, after(running, asksFor('look')), after(running, fails('ModelBusy')), aSession()])
    due(state, closes());
  due(after(due(after(running, asksFor('look')), toolEnds(0))), closes());
  due(after(running, fails('AgentUnavailable')), closes());
  due(running, fails('SessionClosed'));
  due(after(aSession(), closes()), opened);
}

test('the page lists exactly the transitions that happen', () => {
  const seen = new Set<string>();
  const note = (row: string | null) => (row === null ? null : seen.add(row));
  watching(
    (transition) => note(toRow(transition)),
    () => {
      failEveryWay();
      liveThroughTheRest();
      stopAndDrainEverywhere();
      lackCapacityForTools();
      wakeAndCloseEverywhere();
      liveThroughRollOvers();
    },
  );
  for (const seed of [101, 102, 103]) {
    const session = new SimulatedSession(seed);
    for (let step = 0; step < 1_500; step++) session.step();
    session.trace.forEach((transition) => note(toRow(transition)));
  }
  expect([...seen].sort()).toEqual([...documented].sort());
});

test('the page lists every outcome once', () => {
  expect(
    tableUnder('How a turn ends')
      .map(([outcome]) => outcome![0])
      .sort(),
  ).toEqual([...OUTCOMES].sort());
});

test('the page lists every place once, and every place of the tables', () => {
  const places = tableUnder('Places').map(([place]) => place![0]!);
  const used = [...tableUnder('Transitions'), ...tableUnder('While a roll-over is due')].flatMap((row) => [
    ...row[0]!,
    ...row.at(-1)!,
  ]);
  expect([...new Set(used)].sort()).toEqual([...places].sort());
});
