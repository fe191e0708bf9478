import { condition, proxyActivities, setDefaultSignalHandler } from '@temporalio/workflow';

/** The least that a session can be: a signal, an activity, again. What Vigil is measured against. */
export async function floor(): Promise<void> {
  const inbox: string[] = [];
  setDefaultSignalHandler((_, id) => void inbox.push(id as string));
  const { answer } = proxyActivities<{ answer(id: string): Promise<void> }>({
    startToCloseTimeout: '1 minute',
    heartbeatTimeout: '1 minute',
    retry: { maximumAttempts: 3 },
  });
  for (;;) {
    await condition(() => inbox.length > 0);
    await answer(inbox.shift()!);
  }
}
