import type { Migration } from 'kysely';
import { sessions } from './0001-sessions.js';
import { stopAndDrain } from './0002-stop-and-drain.js';
import { leases } from './0003-leases.js';
import { evidence } from './0004-evidence.js';
import { accountGates } from './0005-account-gates.js';
import { losses } from './0006-losses.js';
import { deliveries } from './0007-deliveries.js';

/** Every step of the schema, by its number. A name is stored in each store that ran it: never rename, remove or reorder one. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-sessions': sessions,
  '0002-stop-and-drain': stopAndDrain,
  '0003-leases': leases,
  '0004-evidence': evidence,
  '0005-account-gates': accountGates,
  '0006-losses': losses,
  '0007-deliveries': deliveries,
};
