import type { SessionActivities } from '../protocol/activities.js';
import { createCallModel } from './call-model.js';
import { createCallTool } from './call-tool.js';
import type { Dependencies } from './dependencies.js';
import { createRecord } from './record.js';

/** The activities of a worker, bound to what it gives them. */
export function createActivities(dependencies: Dependencies): SessionActivities {
  return {
    callModel: createCallModel(dependencies),
    callTool: createCallTool(dependencies),
    record: createRecord(dependencies),
  };
}
