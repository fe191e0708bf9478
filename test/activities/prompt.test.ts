import type { LanguageModelV3Message } from '@ai-sdk/provider';
import { z } from 'zod';
import { PromptError, toFunctionTools, toPrompt } from '../../activities/prompt.js';
import { LIMITS } from '../../protocol/limits.js';
import type { Part } from '../../protocol/messages.js';
import type { AssistantPart, Entry, EntryContent, ToolResult } from '../../store/session-store.js';
import { aTool } from '../support/activity-world.js';

function entries(...contents: EntryContent[]): Entry[] {
  return contents.map((content, index) => ({
    id: `e${index}`,
    parentId: index === 0 ? null : `e${index - 1}`,
    content,
  }));
}

const user = (...parts: (Part | string)[]): EntryContent => ({
  kind: 'user',
  messageId: 'm1',
  parts: parts.map((part) => (typeof part === 'string' ? { kind: 'text', text: part } : part)),
});
const assistant = (...parts: AssistantPart[]): EntryContent => ({ kind: 'assistant', model: 'm', parts });
const result = (toolCallId: string, output: string, ok = true): EntryContent => {
  const toolResult: ToolResult = { ok, output };
  return { kind: 'tool', toolCallId, name: 'clock', result: toolResult };
};
const text = (value: string): AssistantPart => ({ kind: 'text', text: value });
const reasoning = (value: string): AssistantPart => ({ kind: 'reasoning', text: value });
const call = (toolCallId: string, over: Partial<Extract<AssistantPart, { kind: 'toolCall' }>> = {}): AssistantPart => ({
  ...{ kind: 'toolCall', toolCallId, providerCallId: `p-${toolCallId}`, name: 'clock', input: '{}' },
  ...over,
});

const BLOBS: Record<string, { bytes: Uint8Array; mediaType: string }> = {
  'blob:image': { bytes: new Uint8Array([1, 2, 3]), mediaType: 'image/png' },
  'blob:text': { bytes: new TextEncoder().encode('a long text, stored'), mediaType: 'text/plain' },
};
const store = { getBlob: (ref: string) => Promise.resolve(BLOBS[ref] ?? null) };

const promptOf = (...contents: EntryContent[]) => toPrompt(entries(...contents), undefined, store);

/** A prompt in short words. */
function spoken(prompt: LanguageModelV3Message[]): string[] {
  return prompt.map(({ role, content }) => {
    if (typeof content === 'string') return `${role}: ${content}`;
    return `${role}: ${content.map((part) => wordFor(part)).join(' | ')}`;
  });
}

function wordFor(part: Exclude<LanguageModelV3Message['content'], string>[number]): string {
  if (part.type === 'tool-call') return `call ${part.toolCallId} ${part.toolName} ${JSON.stringify(part.input)}`;
  if (part.type === 'tool-result')
    return `${part.output.type} ${part.toolCallId} ${'value' in part.output ? String(part.output.value) : ''}`;
  if (part.type === 'file')
    return `file ${part.mediaType} ${part.data instanceof URL ? part.data.href : String(part.data)}`;
  return 'text' in part ? `${part.type} ${part.text}` : part.type;
}

test('instructions come first, as the system prompt', async () => {
  const prompt = await toPrompt(entries(user('hello')), 'Be brief.', store);
  expect(spoken(prompt)).toEqual(['system: Be brief.', 'user: text hello']);
});

test('no instructions make no system prompt', async () => {
  expect(spoken(await promptOf(user('hello')))).toEqual(['user: text hello']);
  expect(spoken(await toPrompt(entries(user('hello')), '', store))).toEqual(['user: text hello']);
});

describe('tool calls', () => {
  test('have their results together, in the order of the calls', async () => {
    const prompt = await promptOf(
      user('what time?'),
      assistant(text('I look.'), call('t1'), call('t2'), call('t3')),
      result('t3', 'three'),
      result('t1', 'one'),
      result('t2', 'no', false),
      user('thanks'),
    );
    expect(spoken(prompt)).toEqual([
      'user: text what time?',
      'assistant: text I look. | call p-t1 clock {} | call p-t2 clock {} | call p-t3 clock {}',
      'tool: text p-t1 one | error-text p-t2 no | text p-t3 three',
      'user: text thanks',
    ]);
  });

  test('without a result get an error result, before anything else is said', async () => {
    const prompt = await promptOf(user('a'), assistant(call('t1'), call('t2')), result('t2', 'two'), user('b'));
    expect(spoken(prompt)).toEqual([
      'user: text a',
      'assistant: call p-t1 clock {} | call p-t2 clock {}',
      'tool: error-text p-t1 This call has no result. | text p-t2 two',
      'user: text b',
    ]);
  });

  test('at the end of the transcript are closed too', async () => {
    expect(spoken(await promptOf(user('a'), assistant(call('t1')))).at(-1)).toBe(
      'tool: error-text p-t1 This call has no result.',
    );
  });

  test('of two messages in a row are closed each', async () => {
    const prompt = await promptOf(user('a'), assistant(call('t1')), assistant(call('t2')), result('t2', 'two'));
    expect(spoken(prompt).slice(1)).toEqual([
      'assistant: call p-t1 clock {}',
      'tool: error-text p-t1 This call has no result.',
      'assistant: call p-t2 clock {}',
      'tool: text p-t2 two',
    ]);
  });

  test('take the first of two results, and results of no call are left out', async () => {
    const prompt = await promptOf(
      user('a'),
      assistant(call('t1')),
      result('t1', 'one'),
      result('t1', 'again'),
      result('t9', 'whose?'),
    );
    expect(spoken(prompt).at(-1)).toBe('tool: text p-t1 one');
  });

  test.each([
    ['', {}],
    ['{"a":1}', { a: 1 }],
    ['{"a":', { invalid: '{"a":' }],
    ['7', { invalid: '7' }],
    ['null', { invalid: 'null' }],
    ['[1,2]', { invalid: '[1,2]' }],
    ['plain words', { invalid: 'plain words' }],
  ])('with the arguments %p go back as an object', async (input, expected) => {
    const [, message] = await promptOf(user('a'), assistant(call('t1', { input })));
    expect(message).toMatchObject({ content: [{ type: 'tool-call', input: expected }] });
  });

  test.each([
    ['get.weather now', 'get_weather_now'],
    ['', 'unknown'],
    ['x'.repeat(100), 'x'.repeat(64)],
  ])('of a tool that the model called %p go back under a name that providers take', async (name, expected) => {
    const [, message, results] = await promptOf(user('a'), assistant(call('t1', { name })));
    expect(message).toMatchObject({ content: [{ toolName: expected }] });
    expect(results).toMatchObject({ content: [{ toolName: expected }] });
  });
});

describe('a tool result', () => {
  test('of the limit is shown whole', async () => {
    const output = 'x'.repeat(LIMITS.toolResultChars);
    expect(spoken(await promptOf(user('a'), assistant(call('t1')), result('t1', output))).at(-1)).toBe(
      `tool: text p-t1 ${output}`,
    );
  });

  test('over the limit is cut, and says so', async () => {
    const output = 'x'.repeat(LIMITS.toolResultChars + 10);
    const shown = spoken(await promptOf(user('a'), assistant(call('t1')), result('t1', output))).at(-1)!;
    expect(shown).toContain(`[cut: 10 of ${output.length} characters are not shown]`);
    expect(shown.length).toBeLessThan(LIMITS.toolResultChars + 200);
  });

  test('that is cut inside a character holds no half of it', async () => {
    const output = 'x'.repeat(LIMITS.toolResultChars - 1) + '😀😀';
    const prompt = await promptOf(user('a'), assistant(call('t1')), result('t1', output));
    expect(JSON.stringify(prompt)).not.toMatch(/\\ud[89a-f]/i);
  });
});

describe('what a model said', () => {
  test('goes back with what its provider attached to it', async () => {
    const signed = { anthropic: { signature: 'abc' } };
    const [, message] = await promptOf(
      user('a'),
      assistant(
        { kind: 'reasoning', text: 'hm', providerOptions: signed },
        { kind: 'text', text: 'so', providerOptions: { openai: { itemId: 'i' } } },
        { ...call('t1'), providerOptions: { google: { thoughtSignature: 'z' } } },
      ),
    );
    expect(message).toMatchObject({
      content: [
        { type: 'reasoning', text: 'hm', providerOptions: signed },
        { type: 'text', providerOptions: { openai: { itemId: 'i' } } },
        { type: 'tool-call', providerOptions: { google: { thoughtSignature: 'z' } } },
      ],
    });
  });

  test('keeps reasoning that is hidden but signed', async () => {
    const hidden: AssistantPart = {
      kind: 'reasoning',
      text: '',
      providerOptions: { anthropic: { redactedData: 'x' } },
    };
    const [, message] = await promptOf(user('a'), assistant(hidden, text('so')));
    expect(message).toMatchObject({ content: [{ type: 'reasoning', text: '' }, { type: 'text' }] });
  });

  test('goes back without texts of spaces, which providers refuse', async () => {
    expect(spoken(await promptOf(user('a'), assistant(text('\n\n'), call('t1')), result('t1', 'x')))[1]).toBe(
      'assistant: call p-t1 clock {}',
    );
  });

  test('goes back without reasoning that nothing follows, which providers refuse', async () => {
    const prompt = await promptOf(
      user('a'),
      assistant(reasoning('hm'), text('so'), reasoning('and')),
      user('b'),
      assistant(reasoning('hm')),
      user('c'),
    );
    expect(spoken(prompt)).toEqual([
      'user: text a',
      'assistant: reasoning hm | text so',
      'user: text b',
      'user: text c',
    ]);
  });

  test('holds no half characters', async () => {
    const prompt = await promptOf(user('half \ud83d'), assistant(text('\ude00 half')));
    expect(JSON.stringify(prompt)).not.toMatch(/\\ud[89a-f]/i);
    expect(spoken(await promptOf(user('whole 😀')))).toEqual(['user: text whole 😀']);
  });
});

describe('a part of a message', () => {
  test('that is a stored text is read', async () => {
    expect(spoken(await promptOf(user({ kind: 'text', ref: 'blob:text' }, 'and more')))).toEqual([
      'user: text a long text, stored | text and more',
    ]);
  });

  test('that is an image or a file in the store is sent with its bytes', async () => {
    const [message] = await promptOf(
      user(
        { kind: 'image', ref: 'blob:image', mediaType: 'image/png' },
        { kind: 'file', ref: 'blob:image', mediaType: 'application/pdf', name: 'a.pdf' },
      ),
    );
    expect(message).toMatchObject({
      content: [
        { type: 'file', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) },
        { type: 'file', mediaType: 'application/pdf', data: new Uint8Array([1, 2, 3]), filename: 'a.pdf' },
      ],
    });
  });

  test('that is an image at an address is sent as the address', async () => {
    const part: Part = { kind: 'image', ref: 'https://example.org/a.png', mediaType: 'image/png' };
    expect(spoken(await promptOf(user(part)))).toEqual(['user: file image/png https://example.org/a.png']);
  });

  test.each<[string, Part]>([
    ['that the store does not hold', { kind: 'image', ref: 'blob:gone', mediaType: 'image/png' }],
    ['that is a text at an address', { kind: 'text', ref: 'https://example.org/a.txt' }],
    ['whose address is none', { kind: 'image', ref: 'https://', mediaType: 'image/png' }],
  ])('%s is refused', async (_what, part) => {
    await expect(promptOf(user(part))).rejects.toThrow(PromptError);
  });
});

test('the same transcript gives the same prompt', async () => {
  const transcript = [
    user('a'),
    assistant(reasoning('r'), text('b'), call('t1'), call('t2')),
    result('t2', 'x'),
    user('c'),
  ];
  expect(JSON.stringify(await promptOf(...transcript))).toBe(JSON.stringify(await promptOf(...transcript)));
});

test('a tool is told to the model with its name, its description and the schema of its input', () => {
  const tool = aTool({
    name: 'add',
    description: 'Adds.',
    input: z.object({ a: z.number(), b: z.number().default(1) }),
  });
  expect(toFunctionTools([tool])).toMatchObject([
    {
      ...{ type: 'function', name: 'add', description: 'Adds.' },
      // What the model may leave out is not required.
      inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
    },
  ]);
});
