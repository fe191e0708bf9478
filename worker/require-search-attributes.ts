import type { Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../protocol/names.js';
import { StartError } from './start-error.js';

/** Refuses to go on when an attribute is missing: setting one that is not registered would fail a session's task for ever. */
export async function requireSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  const { customAttributes } = await connection.operatorService
    .listSearchAttributes({ namespace })
    .catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      throw new StartError(
        `the Temporal server cannot tell about namespace "${namespace}" (${reason}); does it exist? Name yours with VIGIL_NAMESPACE`,
      );
    });
  const missing = Object.values(SEARCH_ATTRIBUTES).filter((name) => customAttributes[name] === undefined);
  if (missing.length === 0) return;
  const flags = missing.map((name) => `--name ${name} --type Keyword`).join(' ');
  throw new StartError(
    `namespace "${namespace}" lacks the search attributes ${missing.join(', ')}; register them with:\n  temporal operator search-attribute create --namespace ${namespace} ${flags}`,
  );
}
