/** The chat as a person has it: a real pseudo-terminal, and the screen that a terminal makes of what is written to it. */
import { Terminal } from '../support/terminal.js';
import { Vigil } from '../support/vigil.js';
import { vigilProgram } from '../support/vigil-command.js';

const vigil = Vigil.inFile();
let terminal: Terminal;

function chat(session: string): Terminal {
  terminal = new Terminal([...vigilProgram(), 'chat', session], vigil.places);
  return terminal;
}

afterEach(() => terminal.kill());

test('a line is answered below it, and the prompt comes back', async () => {
  const screen = chat(vigil.session());
  await screen.shows('you>');
  screen.type('2 + 3\r');
  await screen.shows(/you> 2 \+ 3\n\[tool add.* -> 5\]\nThe tool answered: 5\n\(tokens: .*\)\nyou>/);
  screen.type('ping\r');
  await screen.shows(/you> ping\npong\n\(tokens: .*\)\nyou>/);
});

test('text of a broken try disappears from the screen before the new one is shown', async () => {
  const screen = chat(vigil.session());
  await screen.shows('you>');
  screen.type('fault: break once\r');
  await screen.shows(/fault: break once\nThis answer comes whole when the fault is over\.\n\(tokens: .*\)\nyou>/);
  expect(screen.text.match(/This answer/g)).toHaveLength(1);
});

test('the state can be asked for, and Ctrl-D leaves with a session that lives on', async () => {
  const session = vigil.session();
  const screen = chat(session);
  await screen.shows('you>');
  screen.type('ping\r');
  await screen.shows(/pong\n\(tokens: .*\)\nyou>/);
  screen.type('/state\r');
  await screen.shows('idle, 1 turns, 0 waiting');
  screen.type('\x04');
  expect(await screen.hasEnded()).toBe(0);
  expect(await vigil.client.isRunning(session)).toBe(true);
});
