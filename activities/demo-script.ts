import type { LanguageModelV3Message, LanguageModelV3Prompt } from '@ai-sdk/provider';

/** What the demo model says, decided by the last message alone. */
export interface DemoReply {
  text: string;
  /** Milliseconds before each word. */
  wordMs: number;
  calls: { name: string; input: unknown }[];
  fault?: {
    kind: 'stall' | 'break' | 'error' | 'silent' | 'status';
    status: number;
    afterWords: number;
    once: boolean;
  };
}

const WORD_MS = 15;

const HELP = [
  "I am Vigil's built-in demo model: a script, not an AI. Try:",
  '- count to 20 (streaming)',
  '- what time is it? (a tool call)',
  '- 2 + 3 (a tool call with arguments)',
  '- wait for 5 seconds (a tool that takes its time)',
  '- fault: stall once | break once | error once | silent once | 429 once | 401 (what providers do when they fail; without "once" it happens on every try)',
  'For real answers set VIGIL_MODEL, for example with the small local model of: npm run model:local',
].join('\n');

/** Scripts by what they understand, first match wins. */
const SCRIPTS: [RegExp, (match: RegExpExecArray, tools: string[]) => DemoReply][] = [
  [/^ping$/i, () => says('pong', 0)],
  [/\bhelp\b|what can you do/i, () => says(HELP, 0)],
  [
    /fault:\s*(stall|break|error|silent|\d{3})(\s+once)?/i,
    (match) => faulty(match[1]!.toLowerCase(), match[2] !== undefined),
  ],
  [/count to (\d{1,4})/i, (match) => says(numbersTo(Math.min(Number(match[1]), 1_000)), 50)],
  [/wait (?:for )?(\d{1,3}) seconds?/i, (match, tools) => calls(tools, 'wait', { seconds: Number(match[1]) })],
  [/\b(time|clock|date)\b/i, (_, tools) => calls(tools, 'clock', {})],
  [
    /(-?\d+(?:\.\d+)?)\s*(?:\+|plus|and)\s*(-?\d+(?:\.\d+)?)/i,
    (match, tools) => calls(tools, 'add', { a: Number(match[1]), b: Number(match[2]) }),
  ],
];

export function demoReply(prompt: LanguageModelV3Prompt, tools: string[]): DemoReply {
  const last = prompt.at(-1);
  if (last?.role === 'tool') return says(`The tool answered: ${resultText(last)}`);
  const text = last?.role === 'user' ? userText(last) : '';
  for (const [pattern, script] of SCRIPTS) {
    const match = pattern.exec(text);
    if (match) return script(match, tools);
  }
  return says(
    `You said: "${text.slice(0, 200)}". I am a scripted demo model, not an AI; say "help" to see what I understand.`,
  );
}

function says(text: string, wordMs = WORD_MS): DemoReply {
  return { text, wordMs, calls: [] };
}

function calls(tools: string[], name: string, input: unknown): DemoReply {
  if (!tools.includes(name)) return says(`I would call the tool "${name}", but this agent does not have it.`);
  return { text: '', wordMs: 0, calls: [{ name, input }] };
}

function faulty(kind: string, once: boolean): DemoReply {
  const status = Number(kind);
  const named = Number.isNaN(status) ? (kind as 'stall' | 'break' | 'error' | 'silent') : 'status';
  return {
    ...says('This answer comes whole when the fault is over.'),
    fault: { kind: named, status, afterWords: 3, once },
  };
}

function numbersTo(last: number): string {
  return Array.from({ length: last }, (_, index) => String(index + 1)).join(' ');
}

function userText(message: Extract<LanguageModelV3Message, { role: 'user' }>): string {
  return message.content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}

function resultText(message: Extract<LanguageModelV3Message, { role: 'tool' }>): string {
  return message.content
    .map((part) => (part.type === 'tool-result' && 'value' in part.output ? String(part.output.value) : ''))
    .join('; ');
}
