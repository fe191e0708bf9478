import { sleep } from '@temporalio/workflow';
import { session as healthy } from '../../workflows/session.js';

/** A session whose first command is another one than any recorded session's: what replay must notice. */
export async function session(...args: Parameters<typeof healthy>): Promise<void> {
  await sleep(1);
  return healthy(...args);
}
