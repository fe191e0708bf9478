import { LIMITS } from '../../protocol/limits.js';
import type { CallFailure } from './events.js';
import { notice } from './outbox.js';
import type { FailedLink, SessionState } from './state.js';

/**
 * The chain of models. A turn begins at the first link, moves on when a link cannot answer, and never back: a model that failed is
 * asked again by the next turn.
 */

/** Place in the chain that the turn stands at; the last one, should the profile have lost links since. */
export function linkOf({ profile, turn }: SessionState): number {
  return Math.min(turn!.failedLinks.length, (profile.links?.length ?? 1) - 1);
}

/** The turn at its next model, or `null` when there is none, or none that could do better. Each model has resumes of its own. */
export function fallBack(state: SessionState, failure: CallFailure): SessionState | null {
  const next = state.profile.links?.[linkOf(state) + 1];
  if (!next || state.draining || !isOfTheModel(failure)) return null;
  const turn = state.turn!;
  const failed = failedLink(state, failure.message);
  const told = notice(state, 'model_fallback', `from ${failed.model} to ${next.model}: ${failed.reason}`, turn.id);
  return { ...told, turn: { ...turn, failedLinks: [...turn.failedLinks, failed], used: { ...turn.used, resumes: 0 } } };
}

/** Another model may answer what this one did not; what is wrong with the request stays wrong. */
function isOfTheModel({ type, inputAtFault }: CallFailure): boolean {
  if (type === 'ModelRejected') return !inputAtFault;
  return type === 'HeartbeatTimeout' || type === 'StreamBroken' || type === 'ModelBusy';
}

/** Why a turn ends whose call failed: with a chain behind it, each model with its own cause. */
export function reasonOf(state: SessionState, message: string): string {
  const { failedLinks } = state.turn!;
  if (failedLinks.length === 0) return message;
  const links = [...failedLinks, failedLink(state, message)];
  const chars = Math.floor(LIMITS.reasonChars / links.length) - CHARS_BETWEEN;
  const causes = links.map(({ model, reason }) => `${model}: ${reason}`.slice(0, chars));
  return `no model of the chain answered: ${causes.join('; ')}`;
}

/** Of the words around a cause: so that every cause is at least begun within the limit. */
const CHARS_BETWEEN = 20;

function failedLink(state: SessionState, reason: string): FailedLink {
  return { model: state.profile.links?.[linkOf(state)]?.model ?? 'the model', reason };
}
