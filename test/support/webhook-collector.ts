import { accumulate, answerText, EMPTY_TRANSCRIPT, type Transcript } from '../../protocol/accumulate.js';
import type { Output, OutputKind } from '../../protocol/outputs.js';
import type { SessionClient } from '../../client/sessions.js';
import type { Chance } from './session-chance.js';

/** What the collector would post: text of completed calls so far, and the whole when the turn has ended. */
export interface Post {
  turnId: string;
  text: string;
  final: string | null;
}

/** The least that a webhook needs; discards and ends of turns come anyway. */
const KINDS: OutputKind[] = ['TextDelta', 'TextOutput', 'Notice'];

/**
 * A reader as bad as a webhook's may be: it reads a few kinds only, loses its connection after every few batches and goes on from the
 * `seq` it wrote down, which is not the newest it saw; what it hands on arrives in pieces, and some of them twice.
 */
export class WebhookCollector {
  readonly posts: Post[] = [];
  private transcript: Transcript = EMPTY_TRANSCRIPT;
  private writtenDown = 0;

  constructor(
    private readonly client: SessionClient,
    private readonly session: string,
    private readonly chance: Chance,
  ) {}

  /** Reads until so many turns have ended. */
  async collect(turns: number, limit: AbortSignal): Promise<void> {
    while (!this.hasAll(turns)) {
      limit.throwIfAborted();
      await this.connect(turns, limit);
    }
  }

  private hasAll(turns: number): boolean {
    return this.finals().length >= turns;
  }

  finals(): Post[] {
    return this.posts.filter((post) => post.final !== null);
  }

  private async connect(turns: number, signal: AbortSignal): Promise<void> {
    let batches = this.chance.between(1, 3);
    for await (const batch of this.client.outputs(this.session, { afterSeq: this.writtenDown, kinds: KINDS, signal })) {
      this.receive(batch);
      if (this.chance.happens(0.5)) this.writtenDown = this.chance.oneOf(batch).seq;
      if (--batches === 0 || this.hasAll(turns)) return;
    }
  }

  private receive(batch: Output[]): void {
    for (let from = 0; from < batch.length;) {
      const piece = batch.slice(from, from + this.chance.between(1, 4));
      const times = this.chance.happens(0.3) ? 2 : 1;
      for (let time = 0; time < times; time++) this.take(piece);
      from += piece.length;
    }
  }

  private take(piece: Output[]): void {
    const before = this.transcript;
    this.transcript = accumulate(before, piece);
    for (const turn of this.transcript.turns) {
      const { turnId, ended } = turn;
      const post = { turnId, text: answerText(turn), final: ended ? ended.text : null };
      const last = this.posts.findLast((posted) => posted.turnId === turnId);
      if (last?.text !== post.text || last.final !== post.final) this.posts.push(post);
    }
  }
}
