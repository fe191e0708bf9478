import {
  APICallError,
  InvalidPromptError,
  LoadAPIKeyError,
  NoSuchModelError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import { CancelledFailure } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { types } from 'node:util';
import type { FailureDetails, FailureType } from '../protocol/failures.js';
import { LIMITS } from '../protocol/limits.js';
import type { Profile } from '../protocol/liveness.js';
import {
  SessionClosedError,
  SessionDrainingError,
  StaleTryError,
  StoreUnavailableError,
  TranscriptMissingError,
} from '../store/session-store.js';
import {
  AccountBusyError,
  AgentUnavailableError,
  ChannelUndeclaredError,
  ProfileChangedError,
} from './activity-errors.js';
import { StreamBrokenError } from './finish-table.js';
import { ModelSpecError, withoutSecrets } from './models.js';
import { PromptError } from './prompt.js';
import { isUnreadable, type ProviderReport, reportOfPart, reportOfReply } from './provider-report.js';
import { ErrorPart, OutputLimitError } from './read-stream.js';

interface Verdict {
  type: FailureType;
  message: string;
  retryAfterMs?: number;
  /** Of `ModelBusy`: it holds for whatever is asked with the same key. */
  isOfAccount?: boolean;
  /** Milliseconds before the server's next attempt of a retryable failure. */
  nextRetryMs?: number;
  inputAtFault?: boolean;
  profile?: Profile;
}

/**
 * The only place that makes an `ApplicationFailure`. The signal is asked first: what a provider library throws after an abort is noise.
 * A cancel that the workflow asked for is rethrown as it came.
 */
export function toFailure(
  error: unknown,
  context: { attempt: number; phase: string | null; signal: AbortSignal },
): Error {
  const { signal, attempt, phase } = context;
  if (signal.aborted && !(error instanceof StaleTryError)) {
    const reason = signal.reason as unknown;
    if (reason instanceof CancelledFailure && reason.message === 'WORKER_SHUTDOWN') {
      return makeFailure({ type: 'WorkerDraining', message: 'the worker is shutting down' }, attempt, phase);
    }
    if (reason instanceof Error) return reason;
  }
  return makeFailure(classify(error), attempt, phase);
}

/** The provider did no work for the request. */
export function isRefusal(failure: Error): boolean {
  return failure instanceof ApplicationFailure && REFUSALS.has(failure.type);
}

const REFUSALS: ReadonlySet<string | null | undefined> = new Set<FailureType>([
  'ModelBusy',
  'ModelRejected',
  'ContextOverflow',
]);

function makeFailure(
  { type, message, nextRetryMs, profile, ...extra }: Verdict,
  attempt: number,
  phase: string | null,
) {
  const { retryAfterMs, inputAtFault } = extra;
  const details: FailureDetails = {
    attempt,
    phase,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(inputAtFault === undefined ? {} : { inputAtFault }),
  };
  return ApplicationFailure.create({
    type,
    message: withoutSecrets(message).slice(0, LIMITS.reasonChars),
    nonRetryable: type !== 'StreamBroken',
    details: profile ? [details, profile] : [details],
    ...(nextRetryMs === undefined ? {} : { nextRetryDelay: nextRetryMs }),
  });
}

function classify(error: unknown): Verdict {
  const message = messageOf(error);
  if (error instanceof StaleTryError) return { type: 'StaleTry', message };
  if (error instanceof SessionClosedError) return { type: 'SessionClosed', message };
  if (error instanceof SessionDrainingError) return { type: 'SessionDraining', message };
  if (error instanceof StoreUnavailableError) return { type: 'StoreUnavailable', message };
  if (error instanceof TranscriptMissingError) return { type: 'TranscriptMissing', message };
  if (error instanceof AgentUnavailableError) return { type: 'AgentUnavailable', message };
  if (error instanceof ChannelUndeclaredError) return { type: 'ChannelUndeclared', message };
  if (error instanceof ProfileChangedError) return { type: 'ProfileChanged', message, profile: error.profile };
  if (error instanceof AccountBusyError) return { type: 'ModelBusy', message, retryAfterMs: error.retryAfterMs };
  if (error instanceof StreamBrokenError) return { type: 'StreamBroken', message };
  if (error instanceof OutputLimitError) return { type: 'ModelRejected', message };
  if (error instanceof ModelSpecError || LoadAPIKeyError.isInstance(error) || NoSuchModelError.isInstance(error)) {
    return { type: 'ModelRejected', message };
  }
  if (error instanceof PromptError || InvalidPromptError.isInstance(error)) {
    return { type: 'ModelRejected', message, inputAtFault: true };
  }
  if (UnsupportedFunctionalityError.isInstance(error)) {
    return { type: 'ModelRejected', message: `this model does not take ${error.functionality}`, inputAtFault: true };
  }
  if (APICallError.isInstance(error)) return classifyApiError(error);
  if (error instanceof ErrorPart) return isError(error.part) ? classify(error.part) : classifyPart(error.part);
  return classifyThrown(error, message);
}

function classifyApiError(error: APICallError): Verdict {
  const { statusCode } = error;
  const host = hostOf(error.url);
  if (statusCode === undefined) {
    const unreachable = `cannot reach the model at ${host}: ${causeOf(error)}; is its server running, and is the address right?`;
    return { type: 'StreamBroken', message: unreachable, nextRetryMs: 1_000 };
  }
  if (statusCode < 300) {
    return { type: 'StreamBroken', message: `the stream from ${host} broke: ${error.message} (${causeOf(error)})` };
  }
  if (isUnreadable(error)) return { type: 'StreamBroken', message: `the stream from ${host} broke: ${error.message}` };
  const report = reportOfReply(error);
  const retryAfterMs = readRetryAfter(error.responseHeaders);
  const verdict = classifyReport({ ...report, message: `${report.message} (status ${statusCode} from ${host})` });
  return verdict.type === 'ModelBusy' && retryAfterMs !== undefined ? { ...verdict, retryAfterMs } : verdict;
}

/** The stream had begun: an overload is waited for, any other trouble of the server is a broken stream. */
function classifyPart(part: unknown): Verdict {
  const report = reportOfPart(part);
  const message = `the provider reported an error mid-stream: ${report.message}`;
  const { status } = report;
  const isBroken = status === undefined || status === 408 || (status >= 500 && !OVERLOADED.includes(status));
  const verdict = classifyReport({ ...report, message });
  return isBroken && verdict.type === 'ModelBusy' ? { type: 'StreamBroken', message } : verdict;
}

const OVERLOADED = [503, 529];
const BUSY_ACCOUNT = [429, ...OVERLOADED];

/** What a provider said, when it was that the account asks too much of it, or it is overloaded: every session with the key should wait. */
export function busyAccount(error: unknown): { message: string; retryAfterMs?: number } | null {
  const verdict = classify(error);
  return verdict.isOfAccount ? verdict : null;
}

/** One table for every way that a provider tells of a failure. Waiting helps, or the account, or other content, or nothing. */
function classifyReport(report: ProviderReport): Verdict {
  const { message, status, code } = report;
  if (isOverflow(report)) return { type: 'ContextOverflow', message };
  if (status === 402 || code === 'insufficient_quota') {
    return { type: 'ModelRejected', message: `${message}: the account with the provider is used up` };
  }
  if (isUnsupportedContent(report)) return { type: 'ModelRejected', message, inputAtFault: true };
  if (status !== undefined && BUSY_ACCOUNT.includes(status)) return { type: 'ModelBusy', message, isOfAccount: true };
  if (status === undefined || status >= 500 || [408, 409, 425].includes(status)) return { type: 'ModelBusy', message };
  if (status === 401 || status === 403) {
    return { type: 'ModelRejected', message: `${message}: check the provider's API key in the worker's environment` };
  }
  return { type: 'ModelRejected', message, ...([400, 413, 415, 422].includes(status) ? { inputAtFault: true } : {}) };
}

/** Providers without a code for it say it in words; this and the next are the places that read them. */
function isOverflow({ code, message, status }: ProviderReport): boolean {
  if (code === 'context_length_exceeded' || code === 'exceed_context_size_error') return true;
  const mayBe = status === undefined || [400, 413, 422].includes(status);
  return (
    mayBe &&
    /(prompt|input) is too long|context (length|window|size|limit)|maximum context|exceeds the maximum number of tokens/i.test(
      message,
    )
  );
}

/** llama.cpp answers 500 to an image that its model cannot read: waiting would not help. */
function isUnsupportedContent({ message }: ProviderReport): boolean {
  return /(image|audio|video|file|multimodal)[\w ]* (is|are) not supported|(does not|doesn't) support (image|audio|video|file|multimodal)/i.test(
    message,
  );
}

/** Milliseconds where the provider is that exact; else seconds or an HTTP date, per RFC 9110. */
export function readRetryAfter(headers: Record<string, string> | undefined, nowMs = Date.now()): number | undefined {
  const exact = asDuration(headers?.['retry-after-ms']);
  if (exact !== undefined) return exact;
  const value = headers?.['retry-after'];
  const seconds = asDuration(value);
  if (seconds !== undefined) return seconds * 1_000;
  const atMs = Date.parse(value ?? '');
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

function asDuration(value: string | undefined): number | undefined {
  return value !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}

/** Errors of the provider libraries and of sockets are broken streams; anything else is a fault of ours. */
function classifyThrown(error: unknown, message: string): Verdict {
  const isForeign = isError(error) && (/^AI_/.test(error.name) || 'code' in error || hasSocketCause(error));
  return isForeign ? { type: 'StreamBroken', message } : { type: 'Defect', message };
}

function hasSocketCause(error: Error): boolean {
  return typeof error.cause === 'object' && error.cause !== null && 'code' in error.cause;
}

/** Also one of another realm: of Node itself, seen from a test. */
function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value);
}

function hostOf(url: string): string {
  const origin = URL.canParse(url) ? new URL(url).origin : 'null';
  return origin === 'null' ? url : origin;
}

/** The innermost reason that is given: a library's wrapping ("terminated", "fetch failed") says little. */
function causeOf(error: Error): string {
  let innermost = error;
  for (let depth = 0; isError(innermost.cause) && depth < 5; depth++) innermost = innermost.cause;
  return messageOf(innermost);
}

export function messageOf(error: unknown): string {
  if (!isError(error)) return plainMessageOf(error);
  const [first] = 'errors' in error && Array.isArray(error.errors) ? (error.errors as unknown[]) : [];
  return error.message || (first === undefined ? error.name : messageOf(first));
}

/** Anything can be thrown, and some things refuse to be shown. */
function plainMessageOf(error: unknown): string {
  try {
    if (typeof error !== 'object' || error === null) return String(error);
    const { message } = error as { message?: unknown };
    return typeof message === 'string' ? message : JSON.stringify(error);
  } catch {
    return `a thrown ${typeof error}`;
  }
}
