import { APICallError, InvalidPromptError, LoadAPIKeyError, NoSuchModelError, UnsupportedFunctionalityError } from '@ai-sdk/provider';
import { CancelledFailure } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { FailureDetails, FailureType } from '../protocol/failures.js';
import { LIMITS } from '../protocol/limits.js';
import type { Profile } from '../protocol/liveness.js';
import { StaleTryError, StoreUnavailableError, TranscriptMissingError } from '../store/session-store.js';
import { AgentUnavailableError, ProfileChangedError } from './activity-errors.js';
import { StreamBrokenError } from './finish-table.js';
import { ModelSpecError } from './models.js';
import { PromptError } from './prompt.js';

interface Verdict {
  type: FailureType;
  message: string;
  retryAfterMs?: number;
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

function makeFailure({ type, message, nextRetryMs, profile, ...extra }: Verdict, attempt: number, phase: string | null) {
  const { retryAfterMs, inputAtFault } = extra;
  const details: FailureDetails = {
    attempt,
    phase,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(inputAtFault === undefined ? {} : { inputAtFault }),
  };
  return ApplicationFailure.create({
    type,
    message: message.slice(0, LIMITS.reasonChars),
    nonRetryable: type !== 'StreamBroken',
    details: profile ? [details, profile] : [details],
    ...(nextRetryMs === undefined ? {} : { nextRetryDelay: nextRetryMs }),
  });
}

function classify(error: unknown): Verdict {
  const message = messageOf(error);
  if (error instanceof StaleTryError) return { type: 'StaleTry', message };
  if (error instanceof StoreUnavailableError) return { type: 'StoreUnavailable', message };
  if (error instanceof TranscriptMissingError) return { type: 'TranscriptMissing', message };
  if (error instanceof AgentUnavailableError) return { type: 'AgentUnavailable', message };
  if (error instanceof ProfileChangedError) return { type: 'ProfileChanged', message, profile: error.profile };
  if (error instanceof StreamBrokenError) return { type: 'StreamBroken', message };
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
  if (isProviderErrorPart(error)) return classifyErrorPart(error);
  return classifyThrown(error, message);
}

function classifyApiError(error: APICallError): Verdict {
  const { statusCode: status } = error;
  const message = `${error.message}${status === undefined ? '' : ` (status ${status})`} from ${hostOf(error.url)}`;
  if (status === undefined) {
    const unreachable = `cannot reach the model at ${hostOf(error.url)}: ${messageOf(error.cause ?? error)}; is its server running, and is the address right?`;
    return { type: 'StreamBroken', message: unreachable, nextRetryMs: 1_000 };
  }
  if (status < 300) return { type: 'StreamBroken', message: `the stream broke: ${message}` };
  if (isOverflow(error)) return { type: 'ContextOverflow', message };
  if (status === 408 || status === 429 || status >= 500) {
    const retryAfterMs = readRetryAfter(error.responseHeaders);
    return { type: 'ModelBusy', message, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  }
  if (status === 401 || status === 403) {
    return { type: 'ModelRejected', message: `${message}: check the provider's API key in the worker's environment` };
  }
  return { type: 'ModelRejected', message, ...(status === 404 ? {} : { inputAtFault: true }) };
}

/** Providers without a code for it say it in words; this is the one place that reads them. */
function isOverflow({ data, message, statusCode }: APICallError): boolean {
  const code = (data as { error?: { code?: unknown } } | undefined)?.error?.code;
  if (code === 'context_length_exceeded') return true;
  return statusCode === 400 && /prompt is too long|context (length|window|size)|maximum context/i.test(message);
}

/** Seconds or an HTTP date, per RFC 9110. */
export function readRetryAfter(headers: Record<string, string> | undefined, nowMs = Date.now()): number | undefined {
  const value = headers?.['retry-after'];
  if (value === undefined) return undefined;
  const seconds = Number(value);
  if (value.trim() !== '' && Number.isFinite(seconds) && seconds >= 0) return seconds * 1_000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

interface ProviderErrorPart {
  message?: string;
  type?: string;
  code?: string | number;
}

/** An error event inside a stream arrives as a plain object. */
function isProviderErrorPart(error: unknown): error is ProviderErrorPart {
  return typeof error === 'object' && error !== null && !(error instanceof Error);
}

const BUSY_PARTS = new Set(['overloaded_error', 'rate_limit_error', 'rate_limit_exceeded', 'server_overloaded']);

function classifyErrorPart(error: ProviderErrorPart): Verdict {
  const message = `the provider reported an error mid-stream: ${error.message ?? error.type ?? 'without a text'}`;
  const isBusy = BUSY_PARTS.has(error.type ?? '') || BUSY_PARTS.has(String(error.code ?? ''));
  return { type: isBusy ? 'ModelBusy' : 'StreamBroken', message };
}

/** Errors of the provider libraries and of sockets are broken streams; anything else is a fault of ours. */
function classifyThrown(error: unknown, message: string): Verdict {
  const isForeign = error instanceof Error && (/^AI_/.test(error.name) || 'code' in error || hasSocketCause(error));
  return isForeign ? { type: 'StreamBroken', message } : { type: 'Defect', message };
}

function hasSocketCause(error: Error): boolean {
  return typeof error.cause === 'object' && error.cause !== null && 'code' in error.cause;
}

function hostOf(url: string): string {
  const origin = URL.canParse(url) ? new URL(url).origin : 'null';
  return origin === 'null' ? url : origin;
}

export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return messageOf(error.errors[0]);
  return error instanceof Error ? error.message || error.name : String(error);
}
