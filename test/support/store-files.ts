import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory of its own for one test's store file. */
export async function aStoreFile(): Promise<{ location: string; directory: string; remove(): Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'vigil-store-'));
  return {
    location: join(directory, 'store.sqlite'),
    directory,
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}
