import type { LanguageModelV3Prompt } from '@ai-sdk/provider';
import { demoReply, type DemoReply } from '../../activities/demo-script.js';

const TOOLS = ['add', 'clock', 'wait', 'schedule_wake', 'list_wakes', 'cancel_wake'];
const HEADER =
  '[wake c-w7, set by agent demo, due Mon 2026-11-30 20:21 +00:00 UTC, every 5 s from x; to end it, cancel]';

type Message = LanguageModelV3Prompt[number];

const asks = (...texts: string[]): Message => ({
  role: 'user',
  content: texts.map((text) => ({ type: 'text', text })),
});

function answered(toolName: string, value: string): Message {
  const output = { type: 'text' as const, value };
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c', toolName, output }] };
}

const reply = (...prompt: Message[]): DemoReply => demoReply(prompt, TOOLS);
const callsOf = (...prompt: Message[]) => reply(...prompt).calls.map(({ name, input }) => [name, input]);

test.each<[string, object]>([
  ['remind me in 10 seconds to stretch', { in_seconds: 10, prompt: 'remind me to stretch' }],
  ['Remind me in a minute that it is time', { in_seconds: 60, prompt: 'remind me to it is time' }],
  ['remind me to stretch in 2 hours', { in_seconds: 7_200, prompt: 'remind me to stretch' }],
  ['remind me every 30 seconds to stretch', { every_seconds: 30, prompt: 'remind me to stretch' }],
  ['every minute say hi', { every_seconds: 60, prompt: 'say hi' }],
  ['every 30 seconds count to 3', { every_seconds: 30, prompt: 'count to 3' }],
  ['every day at 9 say good morning', { cron: '0 9 * * *', prompt: 'say good morning' }],
  ['every day at 18:05, what time is it?', { cron: '5 18 * * *', prompt: 'what time is it?' }],
])('"%s" schedules a wake', (text, input) => {
  expect(callsOf(asks(text))).toEqual([['schedule_wake', input]]);
});

test.each(['list my wakes', 'what wakes are there?', 'Show the reminders'])('"%s" lists them', (text) => {
  expect(callsOf(asks(text))).toEqual([['list_wakes', {}]]);
});

describe('to cancel', () => {
  const LIST = 'wake "c-w1": every 5 s; it says: wake "x"\nwake "c-w2" with the key "k": cron';

  test.each(['cancel c-w3', 'cancel wake "c-w3".'])('"%s" means the one that is named', (text) => {
    expect(callsOf(asks(text))).toEqual([['cancel_wake', { wake: 'c-w3' }]]);
  });

  test('"it" means the newest one that is listed', () => {
    expect(callsOf(asks('cancel it'))).toEqual([['list_wakes', {}]]);
    expect(callsOf(asks('cancel it'), answered('list_wakes', LIST))).toEqual([['cancel_wake', { wake: 'c-w2' }]]);
  });

  test('"it" means its own wake in the turn of one', () => {
    expect(callsOf(asks(HEADER, 'cancel it'))).toEqual([['cancel_wake', { wake: 'c-w7' }]]);
  });

  test('"all" means each one that is listed', () => {
    expect(callsOf(asks('cancel all'))).toEqual([['list_wakes', {}]]);
    expect(callsOf(asks('cancel all'), answered('list_wakes', LIST))).toEqual([
      ['cancel_wake', { wake: 'c-w1' }],
      ['cancel_wake', { wake: 'c-w2' }],
    ]);
  });

  test('needs something that is listed', () => {
    expect(reply(asks('cancel all'), answered('list_wakes', 'There are no wakes.')).text).toContain(
      'There are no wakes.',
    );
  });

  test('is not what a list is for otherwise', () => {
    expect(reply(asks('list my wakes'), answered('list_wakes', LIST))).toMatchObject({ calls: [] });
  });
});

describe('in the turn of a wake or a reminder it answers to what the last part asks for', () => {
  test.each([
    ['remind me to stretch', 'Reminder: stretch'],
    ['say hi', 'hi'],
    ['stand up', 'Reminder: stand up'],
    ['ping', 'pong'],
  ])('%s', (wish, text) => {
    expect(reply(asks(HEADER, wish))).toMatchObject({ text, calls: [] });
    expect(reply(asks('[reminder r1 from cron, due 2026-11-30T20:21:00Z]', wish))).toMatchObject({ text, calls: [] });
  });

  test('and may use tools', () => {
    expect(callsOf(asks(HEADER, '2 + 3'))).toEqual([['add', { a: 2, b: 3 }]]);
  });
});

test('what it does not understand it repeats', () => {
  expect(reply(asks('good day')).text).toContain('You said: "good day"');
});
