import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  findDataDir,
  findLockHolder,
  readInstance,
  takeInstanceLock,
  writeInstance,
  type Instance,
  type InstanceLock,
} from '../../config/instance.js';
import { compiledPath } from '../../config/package-root.js';
import { Child } from '../support/child.js';
import { temporaryFolder } from '../support/temporary-folder.js';

const folder = temporaryFolder();

/** Another process that takes the lock of `dataDir` and keeps it. */
async function aHolder(dataDir: string): Promise<Child> {
  const script = `
    const { takeInstanceLock } = await import(process.argv[1]);
    console.log('release' in takeInstanceLock(process.argv[2]) ? 'taken' : 'refused');
    setInterval(() => undefined, 1000);`;
  const holder = new Child(process.execPath, [
    '--input-type=module',
    '-e',
    script,
    compiledPath('config/instance.js'),
    dataDir,
  ]);
  await holder.line('taken');
  return holder;
}

function take(dataDir: string): InstanceLock {
  const lock = takeInstanceLock(dataDir);
  if (!('release' in lock)) throw new Error(`held by ${lock.heldBy}`);
  return lock;
}

function aRecord(overrides: Partial<Instance> = {}): Instance {
  return {
    version: 1,
    pid: process.pid,
    startedAt: '2026-01-01T00:00:00.000Z',
    address: '127.0.0.1:7233',
    namespace: 'default',
    taskQueue: 'vigil',
    storePath: '/store.db',
    temporalPid: 1,
    workerPid: 2,
    logDir: '/logs',
    ...overrides,
  };
}

test('a second process is refused with the pid of the first, and kill -9 of the first frees the lock', async () => {
  const holder = await aHolder(folder());
  expect(takeInstanceLock(folder())).toEqual({ heldBy: holder.pid });
  expect(findLockHolder(folder())).toEqual({ heldBy: holder.pid });
  holder.kill('SIGKILL');
  await holder.hasEnded();
  expect(findLockHolder(folder())).toBeNull();
  take(folder()).release();
});

test('a released lock can be taken again', () => {
  take(folder()).release();
  take(folder()).release();
});

test('probing all the time does not make a starter fail', async () => {
  take(folder()).release();
  const script = `
    const { findLockHolder } = await import(process.argv[1]);
    console.log('probing');
    for (;;) findLockHolder(process.argv[2]);`;
  const prober = new Child(process.execPath, [
    '--input-type=module',
    '-e',
    script,
    compiledPath('config/instance.js'),
    folder(),
  ]);
  await prober.line('probing');
  for (let round = 0; round < 50; round += 1) take(folder()).release();
  expect(prober.end).toBeUndefined();
  prober.kill('SIGKILL');
  await prober.hasEnded();
});

test('probing a folder that does not exist finds nobody and creates nothing', () => {
  const absent = join(folder(), 'absent');
  expect(findLockHolder(absent)).toBeNull();
  expect(readInstance(absent)).toBeNull();
  expect(findDataDir(absent)).toBe(join(absent, '.vigil'));
});

test('the record is read only while somebody holds the lock', () => {
  const lock = take(folder());
  expect(readInstance(folder())).toBeNull();
  writeInstance(folder(), aRecord());
  expect(readInstance(folder())).toEqual(aRecord());
  lock.release();
  expect(readInstance(folder())).toBeNull();
});

test('the record of a process that is gone is not a running instance', async () => {
  const gone = new Child(process.execPath, ['-e', '']);
  await gone.hasEnded();
  const lock = take(folder());
  writeInstance(folder(), aRecord({ pid: gone.pid }));
  expect(readInstance(folder())).toBeNull();
  lock.release();
});

test('a record that is not ours to read counts as none', () => {
  const lock = take(folder());
  for (const text of ['', '{', '{"version":2}', 'null']) {
    writeFileSync(join(folder(), 'instance.json'), text);
    expect(readInstance(folder())).toBeNull();
  }
  lock.release();
});

test('the data directory is the nearest .vigil folder, here or above', () => {
  const deep = join(folder(), 'a', 'b');
  mkdirSync(deep, { recursive: true });
  mkdirSync(join(folder(), '.vigil'));
  expect(findDataDir(deep)).toBe(join(folder(), '.vigil'));
});
