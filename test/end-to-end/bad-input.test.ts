/** Everything a person can get wrong: a clear message with the remedy, an exit code that is not 0, nothing lost. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compiledPath } from '../../config/package-root.js';
import { LIMITS } from '../../protocol/limits.js';
import { Child } from '../support/child.js';
import { Vigil } from '../support/vigil.js';

const vigil = Vigil.inFile();
const COMMAND_LIMIT_MS = 60_000;

/** A worker that is expected not to start. */
async function worker(args: string[], env: NodeJS.ProcessEnv = {}): Promise<Child> {
  const child = new Child(process.execPath, [compiledPath('worker/main.js'), ...args], {
    env: { ...process.env, ...vigil.places, ...env },
  });
  await child.hasEnded(COMMAND_LIMIT_MS);
  return child;
}

function file(name: string, content: string): string {
  const path = join(vigil.folder, name);
  writeFileSync(path, content);
  return path;
}

describe('vigil chat', () => {
  test.each([
    ['an empty text', ['--message', '  '], 2, 'empty'],
    ['a session name that is none', ['--message', 'x'], 2, 'not a session id', 'no spaces please'],
    ['a tenant too many', ['--message', 'x'], 2, 'TENANT/NAME', 'a/b/c'],
    ['an attachment that does not exist', ['--file', 'nowhere.png'], 2, 'cannot be read'],
    ['a mode that is none', ['--message', 'x', '--mode', 'shout'], 2, 'steer, queue'],
    ['a wait that is none', ['--message', 'x', '--timeout', 'soon'], 2, 'number of seconds'],
    [
      'an id that is too long',
      ['--message', 'x', '--id', 'i'.repeat(LIMITS.idChars + 1)],
      2,
      `${LIMITS.idChars} characters`,
    ],
  ])('refuses %s', async (_, args, code, message, session = vigil.session()) => {
    const child = await vigil.run(['chat', session, ...args]);
    expect(child.stderr).toContain(message);
    expect(child.end).toBe(code);
    expect(child.stdout).toBe('');
  });

  test('refuses a text over 1 MiB and says to attach it', async () => {
    const path = file('long.txt', 'x'.repeat(LIMITS.messageTextBytes + 1));
    const child = vigil.shell(`"$0" "$1" chat ${vigil.session()} --message - < "${path}"`);
    expect(await child.hasEnded(COMMAND_LIMIT_MS)).toBe(2);
    expect(child.stderr).toContain('attach it as a file');
  });

  test('tells a used id with other text apart, and the first message stands', async () => {
    const session = vigil.session();
    expect((await vigil.run(['chat', session, '--id', 'm1', '--message', 'ping', '--json'])).end).toBe(0);
    const child = await vigil.run(['chat', session, '--id', 'm1', '--message', 'pong']);
    expect(child.stderr).toContain('under a new id');
    expect(child.end).toBe(2);
  });

  test('says which command starts a server when none answers', async () => {
    const child = await vigil.run(['chat', 'x', '--message', 'hello'], { VIGIL_ADDRESS: '127.0.0.1:1' });
    expect(child.stderr).toContain('npm start');
    expect(child.end).toBe(10);
  });

  test('says how to go on when the agent is not defined anywhere', async () => {
    const session = vigil.session();
    const child = await vigil.run(['chat', session, '--agent', 'lost', '--message', 'hello', '--timeout', '30']);
    expect(child.stderr).toContain('agent "lost" is not defined');
    expect(child.end).toBe(14);
  });

  test('gives up after --timeout and says that the message is not lost', async () => {
    const child = await vigil.run(['chat', vigil.session(), '--message', 'fault: stall', '--timeout', '2']);
    expect(child.stderr).toContain('not lost');
    expect(child.end).toBe(16);
  });

  test('prints answer text only on a standard output that is no terminal', async () => {
    const child = await vigil.run(['chat', vigil.session(), '--message', '2 + 3']);
    expect(child.stdout).toBe('The tool answered: 5\n');
    expect(child.stderr).toMatch(/^\[tool add.* -> 5\]\n\(tokens: .*\)\n$/);
    expect(child.end).toBe(0);
  });

  test('ends with 3 and the reason when a turn fails', async () => {
    const child = await vigil.run(['chat', vigil.session(), '--message', 'fault: 401']);
    expect(child.stderr).toContain('API key');
    expect(child.stdout).toBe('');
    expect(child.end).toBe(3);
  });
});

describe('an unknown session', () => {
  test('is named by show, with the command that lists the known ones', async () => {
    const child = await vigil.run(['show', vigil.session()]);
    expect(child.stderr).toContain('vigil sessions');
    expect(child.end).toBe(12);
  });
});

describe('a worker does not start', () => {
  test.each([
    ['with an agent file that does not exist', () => ['--agent', 'nowhere.ts'], 'does not exist'],
    [
      'with an agent file that throws',
      () => ['--agent', file('throws.ts', 'throw new Error("my own mistake");')],
      'my own mistake',
    ],
    ['with an agent file without agents', () => ['--agent', file('none.ts', 'export default 5;')], 'defineAgent'],
    [
      'with a budget of 0',
      () => ['--agent', file('zero.ts', 'export default { name: "z", budgetsMs: { prefill: 0 } };')],
      'allowed are',
    ],
    ['with a model that is none', () => ['--model', 'gpt'], 'is not a model'],
  ])('%s', async (_, args, message) => {
    const child = await worker(args());
    expect(child.stderr).toContain(message);
    expect(child.end).toBe(1);
  });

  test.each([
    ['without the key of its model', { VIGIL_MODEL: 'openai:gpt-5' }, 'set OPENAI_API_KEY'],
    ['without the other key of its model', { VIGIL_MODEL: 'anthropic:claude' }, 'set ANTHROPIC_API_KEY'],
    ['when no server answers', { VIGIL_ADDRESS: '127.0.0.1:1' }, 'npm start'],
    ['with an address that is none', { VIGIL_ADDRESS: 'nonsense' }, 'host:port'],
    ['in a namespace that does not exist', { VIGIL_NAMESPACE: 'nowhere' }, 'VIGIL_NAMESPACE'],
  ])('%s', async (_, env, message) => {
    const child = await worker([], { OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '', ...env });
    expect(child.stderr).toContain(message);
    expect(child.end).toBe(1);
  });

  test('on a store that is no database, naming the file', async () => {
    const path = file('corrupt.db', 'this is no database, and long enough to be read as one'.repeat(100));
    const child = await worker([], { VIGIL_STORE: path });
    expect(child.stderr).toContain(path);
    expect(child.end).toBe(1);
  });
});

describe('a model that cannot be reached', () => {
  test('fails the turn with its address, and the next message is answered when it can', async () => {
    const agent = file('unreachable.ts', 'export default { name: "unreachable", model: "http://127.0.0.1:9/v1#m" };');
    await vigil.worker.kill();
    await vigil.startWorker({ VIGIL_AGENTS: agent });
    const session = vigil.session();
    const outcome = await vigil.ask(session, 'hello', { agent: 'unreachable' });
    expect(outcome).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('http://127.0.0.1:9') });
    expect((await vigil.client.state(session)).status).toBe('idle');
  }, 90_000);
});
