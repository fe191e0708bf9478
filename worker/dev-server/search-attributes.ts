import type { Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../../protocol/names.js';

/** `INDEXED_VALUE_TYPE_KEYWORD` of Temporal's API. */
const KEYWORD = 2;

/**
 * Registers the project's own attributes where they are missing (DESIGN 5). Over gRPC, because `start-dev --search-attribute` is ignored once its database file exists (tried).
 * @throws when one is registered with another type
 */
export async function ensureSearchAttributes(connection: Connection, namespace: string): Promise<void> {
  const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
  const names = Object.values(SEARCH_ATTRIBUTES);
  const missing = names.filter((name) => customAttributes[name] === undefined);
  const wrong = names.filter((name) => (customAttributes[name] ?? KEYWORD) !== KEYWORD);
  if (wrong.length > 0)
    throw new Error(`Search attributes registered with another type than Keyword: ${wrong.join(', ')}.`);
  if (missing.length === 0) return;
  const searchAttributes = Object.fromEntries(missing.map((name) => [name, KEYWORD]));
  await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
}
