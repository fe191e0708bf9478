import type { Client } from '@temporalio/client';
import type { SessionView } from '../../protocol/view.js';

/** What a session was asked by an update. */
export interface Asked {
  sessionId: string;
  update: string;
  input: unknown;
  updateId: string | undefined;
}

type Update = { args: [unknown]; updateId?: string };

/** A server's client for tasks: its sessions give these answers, one after the other, and fail by those that are errors. */
export class AnsweringSession {
  readonly asked: Asked[] = [];
  readonly client: Client;
  readonly #answers: unknown[];

  constructor(...answers: unknown[]) {
    this.#answers = answers;
    const run = (_: unknown, ask: () => Promise<unknown>) => ask();
    const workflow = { getHandle: (sessionId: string) => this.#handle(sessionId) };
    // Of the client, tools use no more than this.
    this.client = { workflow, withDeadline: run, withAbortSignal: run } as unknown as Client;
  }

  #handle(sessionId: string) {
    return {
      executeUpdate: (update: string, { args: [input], updateId }: Update) => {
        this.asked.push({ sessionId, update, input, updateId });
        return this.#next();
      },
      query: () => this.#next(),
    };
  }

  #next(): Promise<unknown> {
    if (this.#answers.length === 0) return Promise.reject(new Error('the session was asked more often than expected'));
    const answer = this.#answers.shift();
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  }
}

/** What the tools look at in a session's view. */
export function aView(over: Partial<Pick<SessionView, 'wakes' | 'queue'>> & { turn?: unknown } = {}): unknown {
  return { wakes: [], queue: [], turn: null, ...over };
}
