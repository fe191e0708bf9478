import { problemsAtRest } from '../../support/session-rest.js';
import { SimulatedSession } from '../../support/session-simulation.js';

const STEPS = 2_500;
const PRESENT_SEEDS = 8;
/** `VIGIL_WALK_SEED=17` walks that seed only, or begins with it; `VIGIL_WALK_STEPS=100000` (`npm run walk`) walks on until so many steps are done. */
const { VIGIL_WALK_SEED: seed, VIGIL_WALK_STEPS: steps } = process.env;
const count = steps === undefined ? (seed === undefined ? PRESENT_SEEDS : 1) : Math.ceil(Number(steps) / STEPS);
const SEEDS = Array.from({ length: count }, (_, n) => Number(seed ?? 1) + n);

test.each(SEEDS)(
  'no invariant breaks in a world that goes wrong, and everything comes to its end (seed %i)',
  (seed) => {
    const session = new SimulatedSession(seed);
    let step = 0;
    try {
      for (; step < STEPS; step++) session.step();
      session.drain();
      expect(problemsAtRest(session)).toEqual([]);
    } catch (error) {
      const where = `seed ${seed}, step ${step} (VIGIL_WALK_SEED=${seed} repeats it)`;
      throw new Error(`${where}: ${String(error)}`, { cause: error });
    }
  },
);
