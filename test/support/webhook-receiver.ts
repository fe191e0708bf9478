import { createServer, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { until } from './until.js';

export const SECRET = `whsec_${Buffer.from('a secret of twenty-four b').toString('base64')}`;

export interface Received {
  /** Path of the address, which tells the channel. */
  path: string;
  id: string;
  body: unknown;
}

/** How the receiver answers: by a status, or never. */
export type Answering = number | 'never';

/** Takes webhooks on this machine and keeps those whose signature holds; answers as it is told, by path. */
export class WebhookReceiver {
  readonly received: Received[] = [];
  /** Why requests were not taken. */
  readonly refused: string[] = [];
  private readonly answers = new Map<string, Answering[]>();
  private server!: Server;

  async start(): Promise<void> {
    this.server = createServer((request, response) => {
      void text(request).then((body) => {
        const path = request.url ?? '';
        const status = this.take(path, request.headers as Record<string, string>, body);
        if (status === 'never') return;
        response.writeHead(status, status === 302 ? { location: `${this.address}/elsewhere` } : {}).end('thanks');
      });
    });
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  get address(): string {
    const address = this.server.address();
    return `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
  }

  /** The next answers on a path; the last one stands for all that follow. Default: 204. */
  answer(path: string, ...answers: Answering[]): void {
    this.answers.set(path, answers);
  }

  on(path: string): Received[] {
    return this.received.filter((each) => each.path === path);
  }

  async has(path: string, count: number, limitMs = 20_000): Promise<Received[]> {
    await until(`${count} webhooks on ${path}`, () => this.on(path).length >= count, limitMs);
    return this.on(path);
  }

  private take(path: string, headers: Record<string, string>, body: string): Answering {
    try {
      this.received.push({ path, id: headers['webhook-id'] ?? '', body: new Webhook(SECRET).verify(body, headers) });
    } catch (error) {
      this.refused.push(String(error));
      return 400;
    }
    const answers = this.answers.get(path) ?? [204];
    return answers.length > 1 ? answers.shift()! : (answers[0] ?? 204);
  }
}
