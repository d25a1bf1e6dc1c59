import { HoldfastError } from '../../core/errors/errors.js';
import { OLLAMA_CLOUD, ollamaAddress } from '../../core/models/ollama-address.js';
import { type Credential, credentialOf } from '../openai/endpoint.js';
import { knowSecret } from '../secrets/known-secrets.js';
import { isSecret, type Secret } from '../secrets/secret.js';

interface OllamaName {
  /** As it was asked for, without spaces around it. */
  readonly original: string;
  /** Without the part that says where the model runs. */
  readonly base: string;
  /** Where the name says that the model runs; null: it does not say. */
  readonly source: 'cloud' | 'local' | null;
}

/**
 * Reads a model name as Ollama's own server does (its package `modelref`): the tag after the last colon names the source
 * if it is `cloud` or `local`, or if it ends with `-cloud`. `my-cloud-model` and `foo:bar-cloud/baz` say nothing.
 * Throws `model_unknown` for a blank name and for one with two sources.
 */
export function parseOllamaName(raw: string): OllamaName {
  const original = raw.trim();
  if (original === '') {
    throw new HoldfastError('model_unknown', 'The name of the Ollama model is blank.', { hint: 'Use ollama/<name>.' });
  }
  const named = sourceOf(original);
  if (named === null) return { original, base: original, source: null };
  if (named.base.trim() === '' || sourceOf(named.base) !== null) {
    throw new HoldfastError(
      'model_unknown',
      `The Ollama model "${original}" must name a model and at most one source.`,
      {
        hint: 'Use <name>:cloud or <name>:local, not both.',
      },
    );
  }
  return { original, ...named };
}

function sourceOf(name: string): { readonly base: string; readonly source: 'cloud' | 'local' } | null {
  const colon = name.lastIndexOf(':');
  if (colon === -1) return null;
  const tag = name.slice(colon + 1).trim();
  const lower = tag.toLowerCase();
  if (lower === 'cloud' || lower === 'local') return { base: name.slice(0, colon), source: lower };
  if (tag.includes('/') || !lower.endsWith('-cloud')) return null;
  return { base: name.slice(0, colon + 1) + tag.slice(0, -'-cloud'.length), source: 'cloud' };
}

export interface OllamaHostOptions {
  /** Where the server is. Wins over everything else. */
  readonly baseURL?: string | null;
  /** The key for `baseURL`, or for Ollama's cloud when there is no `baseURL`. */
  readonly apiKey?: string | Secret | null;
  /** OLLAMA_HOST of the environment: where the server is when `baseURL` does not say. */
  readonly ollamaHost?: string | null;
  /** OLLAMA_API_KEY of the environment: sent to Ollama's cloud and to no other host. */
  readonly ollamaApiKey?: string | null;
}

/** Where one model is served. */
export interface OllamaTarget {
  /** Scheme, host, port and path prefix, without a slash at the end. */
  readonly host: string;
  /** The name of the model as this host knows it. */
  readonly model: string;
  readonly authorization: Credential | null;
}

const LOCAL = 'http://127.0.0.1:11434';

/**
 * Decides per model: an explicit address wins; else the cloud if the tag says so or if there is a key; `:local` forces the
 * local server. Throws `model_unknown` for a name that contradicts itself or its host, and for a cloud without a key.
 */
export function ollamaTarget(rawName: string, options: OllamaHostOptions): OllamaTarget {
  const name = parseOllamaName(rawName);
  const [baseURL, ollamaHost, ollamaApiKey] = [
    given(options.baseURL),
    given(options.ollamaHost),
    given(options.ollamaApiKey),
  ];
  const apiKey = isSecret(options.apiKey) ? options.apiKey : given(options.apiKey);
  const explicit = baseURL ?? ollamaHost;
  const cloudKey = apiKey ?? ollamaApiKey;
  const wantsCloud = name.source === 'cloud' || (cloudKey !== null && name.source !== 'local');
  const { host, authorization } = ollamaAddress(explicit ?? (wantsCloud ? OLLAMA_CLOUD : LOCAL));
  const isCloud = host === OLLAMA_CLOUD;
  if (isCloud && name.source === 'local') {
    throw new HoldfastError(
      'model_unknown',
      `The Ollama model "${name.original}" is local, but its host is ${OLLAMA_CLOUD}.`,
      {
        hint: 'Leave out ":local", or set OLLAMA_HOST to a local server.',
      },
    );
  }
  const key = isCloud ? cloudKey : baseURL === null ? null : apiKey;
  if (isCloud && key === null) {
    throw new HoldfastError(
      'model_unknown',
      `The Ollama model "${name.original}" runs in the cloud, which needs a key.`,
      {
        hint: 'Set OLLAMA_API_KEY, or set OLLAMA_HOST to a local server that is signed in.',
      },
    );
  }
  return {
    host,
    model: isCloud || name.source === 'local' ? name.base : name.original,
    authorization: key === null ? basic(authorization) : credentialOf('Authorization', 'Bearer ', key),
  };
}

/** The user and the password of an address. */
function basic(authorization: string | null): Credential | null {
  if (authorization === null) return null;
  const encoded = authorization.slice('Basic '.length);
  const [user = '', ...password] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  knowSecret(password.join(':') === '' ? user : password.join(':'));
  return credentialOf('Authorization', 'Basic ', encoded);
}

const given = (value: string | null | undefined): string | null =>
  value === undefined || value === null || value.trim() === '' ? null : value.trim();
