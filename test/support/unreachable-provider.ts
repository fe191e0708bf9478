import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Takes connections and says nothing: to a client of TLS, a provider that it is never connected to. */
export class UnreachableProvider {
  readonly connectedAtMs: number[] = [];
  private readonly sockets: Socket[] = [];
  private readonly server: Server = createServer((socket) => {
    this.connectedAtMs.push(Date.now());
    this.sockets.push(socket.on('error', () => undefined));
  });

  static async start(): Promise<UnreachableProvider> {
    const provider = new UnreachableProvider();
    await new Promise<void>((resolve) => provider.server.listen(0, '127.0.0.1', resolve));
    return provider;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
