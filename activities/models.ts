import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV3 } from '@ai-sdk/provider';
import { createHash } from 'node:crypto';
import { createDemoModel } from './demo-model.js';
import { modelFetch } from './model-http.js';

/** Keys and addresses of providers; read from the environment by `loadConfig`, never written to history or logs. */
export interface ProviderSettings {
  openaiApiKey?: string | undefined;
  openaiBaseUrl?: string | undefined;
  anthropicApiKey?: string | undefined;
  anthropicBaseUrl?: string | undefined;
  /** For OpenAI-compatible servers that want one. */
  compatibleApiKey?: string | undefined;
}

/** A model as an agent names it: by a specification, or as an object. */
export type ModelReference = string | LanguageModelV3;

/** What a model can be recognised by. */
export interface ModelIdentity {
  /** As users write it: `PROVIDER:MODEL` or `URL#MODEL`. */
  readonly spec: string;
  /** What its provider calls it. */
  readonly name: string;
  /** Where it is asked, if that is known; `null`: at its provider's own address. */
  readonly url: string | null;
}

/** Reads no more than the reference: the model need not exist. */
export function identifyModel(model: ModelReference, settings: ProviderSettings): ModelIdentity {
  if (typeof model !== 'string') {
    return { spec: `${model.provider.split('.')[0]}:${model.modelId}`, name: model.modelId, url: null };
  }
  if (isUrl(model)) {
    const [url = model, name = ''] = model.split('#');
    return { spec: model, name, url };
  }
  const { provider, name } = splitSpec(model);
  const urls: Record<string, string | undefined> = {
    openai: settings.openaiBaseUrl,
    anthropic: settings.anthropicBaseUrl,
  };
  return { spec: model, name: name || model, url: urls[provider] ?? null };
}

function splitSpec(spec: string): { provider: string; name: string } {
  const [provider = '', ...rest] = spec.split(':');
  return { provider, name: rest.join(':') };
}

const isUrl = (spec: string) => /^https?:\/\//.test(spec);

/** Keys that models were made with: providers repeat them in error messages, and those enter history and logs. */
const secrets = new Set<string>();
const SHORTEST_SECRET_CHARS = 8;

/** The text with every known key blotted out. */
export function withoutSecrets(text: string): string {
  return [...secrets].reduce((shown, secret) => shown.replaceAll(secret, '[key]'), text);
}

const accounts = new WeakMap<LanguageModelV3, string>();

/** Names what a model's limits belong to: provider, address and key, hashed. `null` for models that were not made here, or have no such limits. */
export function accountOf(model: LanguageModelV3): string | null {
  return accounts.get(model) ?? null;
}

function ofAccount(model: LanguageModelV3, ...parts: (string | undefined)[]): LanguageModelV3 {
  accounts.set(model, createHash('sha256').update(JSON.stringify(parts)).digest('hex'));
  return model;
}

/** A model specification that cannot be used, with what to do about it. */
export class ModelSpecError extends Error {
  override name = 'ModelSpecError';
}

export const MODEL_FORMS =
  'demo, openai:MODEL, anthropic:MODEL, or URL#MODEL for an OpenAI-compatible server (like http://127.0.0.1:8080/v1#smollm2)';

/**
 * The model that a specification names.
 * @throws ModelSpecError for a form that is not known or a missing key, naming the variable to set.
 */
export function createModel(spec: string, settings: ProviderSettings): LanguageModelV3 {
  for (const key of [settings.openaiApiKey, settings.anthropicApiKey, settings.compatibleApiKey]) {
    if (key !== undefined && key.length >= SHORTEST_SECRET_CHARS) secrets.add(key);
  }
  if (spec === 'demo') return createDemoModel();
  if (isUrl(spec)) return createCompatible(spec, settings);
  const { provider, name: model } = splitSpec(spec);
  if (model && provider === 'openai') return createOpenAi(model, settings);
  if (model && provider === 'anthropic') return createClaude(model, settings);
  throw new ModelSpecError(`"${spec}" is not a model; write ${MODEL_FORMS}`);
}

function createOpenAi(model: string, settings: ProviderSettings): LanguageModelV3 {
  const apiKey = requireKey(settings.openaiApiKey, 'OPENAI_API_KEY', `openai:${model}`);
  const provider = createOpenAI({
    apiKey,
    fetch: modelFetch,
    ...baseUrl(settings.openaiBaseUrl, 'OPENAI_API_KEY'),
  });
  return ofAccount(provider.languageModel(model), 'openai', settings.openaiBaseUrl, apiKey);
}

function createClaude(model: string, settings: ProviderSettings): LanguageModelV3 {
  const apiKey = requireKey(settings.anthropicApiKey, 'ANTHROPIC_API_KEY', `anthropic:${model}`);
  const provider = createAnthropic({
    apiKey,
    fetch: modelFetch,
    ...baseUrl(settings.anthropicBaseUrl, 'ANTHROPIC_API_KEY'),
  });
  return ofAccount(provider.languageModel(model), 'anthropic', settings.anthropicBaseUrl, apiKey);
}

function createCompatible(spec: string, settings: ProviderSettings): LanguageModelV3 {
  const [url, model] = spec.split('#');
  requireNoPassword(url, 'VIGIL_MODEL_API_KEY');
  if (!url || !model || !URL.canParse(url)) throw new ModelSpecError(`"${spec}" names no model; write URL#MODEL`);
  const key = settings.compatibleApiKey;
  const provider = createOpenAICompatible({
    name: 'compatible',
    baseURL: url,
    fetch: modelFetch,
    includeUsage: true,
    ...(key === undefined ? {} : { apiKey: key }),
  });
  return ofAccount(provider.languageModel(model), 'compatible', url, key);
}

function requireKey(key: string | undefined, variable: string, spec: string): string {
  if (key) return key;
  throw new ModelSpecError(`the model ${spec} needs a key: set ${variable}, or choose another model with VIGIL_MODEL`);
}

function baseUrl(url: string | undefined, keyVariable: string): { baseURL?: string } {
  requireNoPassword(url, keyVariable);
  return url === undefined ? {} : { baseURL: url };
}

/** The address is shown to users and kept in history; a password in it must not be. */
function requireNoPassword(url: string | undefined, keyVariable: string): void {
  if (url === undefined || !URL.canParse(url)) return;
  const { username, password, host } = new URL(url);
  if (username === '' && password === '') return;
  throw new ModelSpecError(`the address of the model at ${host} holds a password; leave it out and set ${keyVariable}`);
}
