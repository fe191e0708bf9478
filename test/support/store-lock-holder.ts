/** A process that holds the write lock of a store: `FILE HOLD_MS`. Prints a line once it has the lock. */
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';

const [file = '', holdMs = '0'] = process.argv.slice(2);
const database = new Database(file, { timeout: 5_000 });
database.exec('begin immediate');
console.log('locked');
await delay(Number(holdMs));
database.exec('rollback');
database.close();
