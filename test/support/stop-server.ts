import { running } from './start-server.js';

export default async function stopServer(): Promise<void> {
  await running.server?.stop();
}
