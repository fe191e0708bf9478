import type { SessionActivities } from '../protocol/activities.js';
import { AccountGates } from './account-gates.js';
import { createCallModel } from './call-model.js';
import { createCallTool } from './call-tool.js';
import { ClosedCallWatch } from './closed-call-watch.js';
import { computeFires } from './compute-fires.js';
import { startSession } from './start-session.js';
import type { Dependencies } from './dependencies.js';
import { createRecord } from './record.js';

/** The activities of a worker, bound to what it gives them; those of channels run elsewhere. */
export function createActivities(dependencies: Dependencies): Omit<SessionActivities, 'deliver'> {
  const watch = new ClosedCallWatch(dependencies.store);
  const gates = new AccountGates(dependencies.store);
  return {
    callModel: createCallModel({ ...dependencies, gates }, watch),
    callTool: createCallTool(dependencies, watch),
    record: createRecord(dependencies),
    computeFires: (input) => Promise.resolve(computeFires(input, dependencies)),
    startSession,
  };
}
