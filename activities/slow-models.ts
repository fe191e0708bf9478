import { BlockList, isIP } from 'node:net';
import type { ModelIdentity } from './models.js';

/**
 * Models that may be silent for minutes and live, with the reason. "*" stands for any text; a pattern is compared with the whole
 * specification, with the model's own name, and with that name's last part (`deepseek-ai/DeepSeek-R1`); capitals do not count.
 * Users add to it with `liveness.slowModels`.
 */
export const SLOW_MODELS: readonly { readonly pattern: string; readonly why: string }[] = [
  ...slow("OpenAI's reasoning models stream nothing while they reason", 'o1*', 'o3*', 'o4*', 'gpt-5*', 'codex-*'),
  ...slow('open weights that reason before they answer', 'gpt-oss*', 'deepseek-r*', 'qwq*', 'qvq*', 'magistral*'),
  ...slow('reason by default, at length', 'qwen3*', 'grok-4*', 'gemini-2.5-pro*', 'glm-z1*', 'minimax-m*'),
  ...slow('their makers call them so', '*thinking*', '*reasoning*', '*reasoner*'),
];

/** A server that runs on processors of one's own reads a long prompt for minutes, and may load the model first. */
const LOCAL_SERVERS = /llama[._-]?cpp|llama-server|ollama|vllm|lm-?studio/i;
const LOCAL_NAMES = /^(localhost|[^.]+|.*\.(localhost|local|internal|lan))$/i;
const LOCAL_ADDRESSES = addresses();

/** Whether a model thinks or loads for minutes before its first token, as far as its name and its place tell. */
export function isSlow(model: ModelIdentity, more: readonly string[]): boolean {
  return isLocal(model) || [...SLOW_MODELS.map(({ pattern }) => pattern), ...more].some((one) => fits(one, model));
}

/** Whether a pattern means the model. */
export function fits(pattern: string, { spec, name }: ModelIdentity): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'));
  const whole = new RegExp(`^${parts.join('.*')}$`, 'i');
  return [spec, name, name.split('/').at(-1)!].some((text) => whole.test(text));
}

function isLocal({ spec, url }: ModelIdentity): boolean {
  if (LOCAL_SERVERS.test(spec)) return true;
  if (url === null || !URL.canParse(url)) return false;
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  const version = isIP(host);
  return version === 0 ? LOCAL_NAMES.test(host) : LOCAL_ADDRESSES.check(host, version === 6 ? 'ipv6' : 'ipv4');
}

/** Loopback, private, link-local, and those of private overlay networks. */
function addresses(): BlockList {
  const list = new BlockList();
  list.addSubnet('127.0.0.0', 8);
  list.addSubnet('10.0.0.0', 8);
  list.addSubnet('172.16.0.0', 12);
  list.addSubnet('192.168.0.0', 16);
  list.addSubnet('169.254.0.0', 16);
  list.addSubnet('100.64.0.0', 10);
  list.addAddress('0.0.0.0');
  list.addAddress('::1', 'ipv6');
  list.addSubnet('fc00::', 7, 'ipv6');
  list.addSubnet('fe80::', 10, 'ipv6');
  return list;
}

function slow(why: string, ...patterns: string[]) {
  return patterns.map((pattern) => ({ pattern, why }));
}
