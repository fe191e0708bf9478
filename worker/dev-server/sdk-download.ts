/**
 * A process of its own that makes the SDK download the Temporal CLI into its cache, and ends.
 * Apart, because a download inside the SDK's native code can be neither cancelled nor bounded from within.
 */
import { TestWorkflowEnvironment } from '@temporalio/testing';

const CHAIN_SHOWN = 3;

try {
  const environment = await TestWorkflowEnvironment.createLocal({
    server: { executable: { type: 'cached-download' } },
  });
  await environment.teardown();
  process.exit(0);
} catch (error) {
  // One line, which the parent shows as the reason; the SDK puts the cause at the end of a long chain.
  const chain = String(error).replaceAll('\n', ' ').split(': ');
  process.stderr.write(`${chain.slice(-CHAIN_SHOWN).join(': ')}\n`);
  process.exit(1);
}
