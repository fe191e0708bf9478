import type { APICallError } from '@ai-sdk/provider';
import { withoutSecrets } from './models.js';

/**
 * What a provider said about a failure, in whatever shape it came: an HTTP reply, an error event that opened a stream, or one in the
 * middle of it.
 */
export interface ProviderReport {
  message: string;
  /** HTTP's own words for it: the reply's status, or the one that the provider's word for the error stands for. */
  status: number | undefined;
  /** The provider's code or type of the error, or an empty text. */
  code: string;
}

/** Providers' words for errors, as the status that their plain HTTP replies have. A status of 500 says less than such a word. */
const STATUS_OF_WORD: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  invalid_prompt: 400,
  content_policy_violation: 400,
  authentication_error: 401,
  invalid_api_key: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  model_not_found: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  overloaded_error: 529,
  server_overloaded: 529,
  server_is_overloaded: 529,
  slow_down: 529,
};

export function reportOfReply({ message, statusCode, data, responseBody }: APICallError): ProviderReport {
  const body = innermostError(data) ?? innermostError(parsed(responseBody)) ?? {};
  const word = [body.code, body.type].find((each) => typeof each === 'string' && each in STATUS_OF_WORD);
  const status = statusCode === 500 && typeof word === 'string' ? STATUS_OF_WORD[word] : statusCode;
  return { message: data === undefined ? withBody(message, body, responseBody) : message, status, code: codeOf(body) };
}

/** Anthropic's library reports a first event that it could not read as a status of 500, which the provider never sent. */
export function isUnreadable({ statusCode, responseBody }: APICallError): boolean {
  const body = statusCode === 500 ? parsed(responseBody) : undefined;
  const name = typeof body === 'object' && body !== null && 'name' in body ? body.name : undefined;
  return typeof name === 'string' && name.startsWith('AI_');
}

/** An error event inside a stream arrives as a plain object, or as a text. */
export function reportOfPart(part: unknown): ProviderReport {
  if (typeof part === 'string') return { message: part, status: undefined, code: '' };
  const body = innermostError(part) ?? {};
  const numbers = [body.statusCode, body.code, body.status].map(Number).filter(isErrorStatus);
  const words = [body.code, body.type].map((word) => STATUS_OF_WORD[String(word)]);
  const message = typeof body.message === 'string' && body.message !== '' ? body.message : JSON.stringify(part ?? null);
  return { message, status: words.find((status) => status !== undefined) ?? numbers[0], code: codeOf(body) };
}

interface ErrorBody {
  message?: unknown;
  type?: unknown;
  code?: unknown;
  status?: unknown;
  statusCode?: unknown;
}

/** `{error: {…}}`, `{response: {error: {…}}}` (OpenAI's failed response) and the bare error all say the same. */
function innermostError(value: unknown): ErrorBody | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { error, response } = value as { error?: unknown; response?: unknown };
  return innermostError(error) ?? innermostError(response) ?? value;
}

function codeOf({ code, type }: ErrorBody): string {
  const word = [code, type].find((each) => typeof each === 'string' && each !== '');
  return typeof word === 'string' ? word : '';
}

const isErrorStatus = (value: number) => Number.isInteger(value) && value >= 400 && value <= 599;

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}

const EXCERPT_CHARS = 300;

/** A reply in no form that the library knows gives only its status as a message; its text may tell a person the cause. */
function withBody(message: string, { message: inner }: ErrorBody, text = ''): string {
  const plain = withoutSecrets(
    text
      .replace(/<[^>]*>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  );
  const said = typeof inner === 'string' ? inner : plain.slice(0, EXCERPT_CHARS);
  return said === '' || message.includes(said) ? message : `${message}: ${said}`;
}
