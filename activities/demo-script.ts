import type { LanguageModelV3Message, LanguageModelV3Prompt } from '@ai-sdk/provider';
import { cancelsOf, type ToolCalls, wakeCalls } from './demo-wakes.js';

type UserMessage = Extract<LanguageModelV3Message, { role: 'user' }>;
type ToolMessage = Extract<LanguageModelV3Message, { role: 'tool' }>;

/** What the demo model says, decided by the last message; after a list of wakes, also by what the list is for. */
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
  '- remind me in 10 seconds to stretch | every 30 seconds say hi | every day at 9 say good morning (wakes)',
  '- list my wakes | cancel it | cancel ID | cancel all',
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
  [/^say (.+)$/is, (match) => says(match[1]!)],
  [/^remind me to (.+)$/is, (match) => says(`Reminder: ${match[1]!}`)],
  [/count to (\d{1,4})/i, (match) => says(numbersTo(Math.min(Number(match[1]), 1_000)), 50)],
  [
    /wait (?:for )?(\d{1,3}) seconds?/i,
    (match, tools) => calls(tools, { name: 'wait', inputs: [{ seconds: Number(match[1]) }] }),
  ],
  [/\b(time|clock|date)\b/i, (_, tools) => calls(tools, { name: 'clock', inputs: [{}] })],
  [
    /(-?\d+(?:\.\d+)?)\s*(?:\+|plus|and)\s*(-?\d+(?:\.\d+)?)/i,
    (match, tools) => calls(tools, { name: 'add', inputs: [{ a: Number(match[1]), b: Number(match[2]) }] }),
  ],
];

export function demoReply(prompt: LanguageModelV3Prompt, tools: string[]): DemoReply {
  const last = prompt.at(-1);
  const { text, wakeId, isWoken } = requestOf(prompt.findLast((message) => message.role === 'user'));
  if (last?.role === 'tool') return afterTool(last, text, tools);
  const wanted = wakeCalls(text, wakeId);
  if (wanted) return calls(tools, wanted);
  for (const [pattern, script] of SCRIPTS) {
    const match = pattern.exec(text);
    if (match) return script(match, tools);
  }
  if (isWoken) return says(`Reminder: ${text}`);
  return says(
    `You said: "${text.slice(0, 200)}". I am a scripted demo model, not an AI; say "help" to see what I understand.`,
  );
}

interface Request {
  text: string;
  /** The wake whose turn this is. */
  wakeId: string | null;
  isWoken: boolean;
}

/** What is asked for: the last part. In the turn of a wake or a reminder, the one before it says so. */
function requestOf(message: UserMessage | undefined): Request {
  const texts = (message?.content ?? []).map((part) => (part.type === 'text' ? part.text : ''));
  const woken = texts.length > 1 ? /^\[(wake|reminder) ([^\s,]+)/.exec(texts[0]!) : null;
  return {
    text: texts.at(-1)?.trim() ?? '',
    wakeId: woken?.[1] === 'wake' ? woken[2]! : null,
    isWoken: woken !== null,
  };
}

function afterTool(last: ToolMessage, text: string, tools: string[]): DemoReply {
  const result = resultText(last);
  const isList = last.content.some((part) => part.type === 'tool-result' && part.toolName === 'list_wakes');
  const wanted = isList ? cancelsOf(text, result) : null;
  return wanted ? calls(tools, wanted) : says(`The tool answered: ${result}`);
}

function says(text: string, wordMs = WORD_MS): DemoReply {
  return { text, wordMs, calls: [] };
}

function calls(tools: string[], { name, inputs }: ToolCalls): DemoReply {
  if (!tools.includes(name)) return says(`I would call the tool "${name}", but this agent does not have it.`);
  return { text: '', wordMs: 0, calls: inputs.map((input) => ({ name, input })) };
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

function resultText(message: ToolMessage): string {
  return message.content
    .map((part) => (part.type === 'tool-result' && 'value' in part.output ? String(part.output.value) : ''))
    .join('; ');
}
