import { isSecretName } from '../../core/secrets/secret-patterns.js';
import { knowAddress, knowSecret } from '../../models/secrets/known-secrets.js';
import { fileSecret, isSecret, type Secret } from '../../models/secrets/secret.js';
import { reachableAgents } from '../../tools/define/reachable-agents.js';
import { carriedSecrets } from '../../tools/http/bound-credential.js';
import type { EngineConfig } from '../engine-config.js';
import { filesOfSettings, knowSettings, tokensFile } from './setting-secrets.js';

/** Which secrets are declared, and how they become known before anything is redacted or said. */

const DEPTH_MAX = 6;

/** Every place of a configuration and of the settings at which a secret is kept that is read later. What it holds itself becomes known. */
export function declaredSecrets(config: EngineConfig): readonly Secret[] {
  knowSettings();
  const {
    agents,
    providers,
    databaseUrl,
    evidence,
    objectStore,
    hub,
    imagePolicy,
    webhooks,
    signingKeyFile,
    ...others
  } = config;
  knowAddress(databaseUrl ?? '');
  const { openaiApiKey, openaiBaseUrl, ollamaApiKey, ollamaHost, dockerHost, checkpoints } = others;
  const { exportBuckets, exportHub, artifacts } = others;
  const places = [
    ...know({ openaiApiKey, ollamaApiKey }, 0),
    ...know([openaiBaseUrl, ollamaHost, dockerHost, checkpoints, exportBuckets, exportHub, artifacts], 0),
    ...know(objectStore, 0),
    ...know(hub, 0),
    ...know(imagePolicy?.credentials, 0),
    ...know(webhooks, 0),
    ...know(evidence?.signingKey, 0),
    ...Object.values(providers ?? {}).flatMap((provider) => know(secretsOf(provider), 0)),
    ...(Array.isArray(agents) ? agents : []).flatMap(secretsOfAgent),
  ];
  return [...filesOfSettings(), ...(signingKeyFile ? [fileSecret(signingKeyFile)] : []), ...places];
}

/** The files that hold them, and the tokens. */
export const secretFiles = (secrets: readonly Secret[]): readonly string[] =>
  [...secrets.map(({ path }) => path ?? null), tokensFile()].filter((path) => path !== null);

function secretsOfAgent(declared: EngineConfig['agents'][number]): readonly Secret[] {
  if (typeof declared !== 'object' || declared === null) return [];
  const agent = 'agent' in declared ? declared.agent : declared;
  const environment = 'environment' in declared ? declared.environment : undefined;
  const reached = isAgent(agent) ? reachableAgents(agent) : [];
  const servers = reached.flatMap(({ mcpServers }) => mcpServers ?? []);
  const ofServers = servers.flatMap((server) => [...knowServer(server), ...carriedSecrets(server)]);
  const ofTools = reached.flatMap(({ tools }) => tools.flatMap(carriedSecrets));
  return [...know(environment?.secrets, 0), ...ofTools, ...ofServers];
}

const isAgent = (value: unknown): value is Parameters<typeof reachableAgents>[0] =>
  typeof value === 'object' && value !== null && 'handoffs' in value && Array.isArray(value.handoffs);

/** Makes known what a server of the Agents SDK was made with. Gives the places of secrets that its settings name. */
export const knowServer = (server: unknown): readonly Secret[] => know(settingsOf(server), 0);

/** What a server of the Agents SDK was made with. */
function settingsOf(server: unknown): unknown {
  const inner: unknown = typeof server === 'object' && server !== null ? Reflect.get(server, 'underlying') : null;
  return [server, inner].map((one) => (typeof one === 'object' && one !== null ? Reflect.get(one, 'params') : null));
}

/** What a provider says by a method `secrets`. */
function secretsOf(provider: unknown): unknown {
  if (typeof provider !== 'object' || provider === null) return null;
  const said: unknown = Reflect.get(provider, 'secrets');
  return typeof said === 'function' ? said.call(provider) : null;
}

/** Looks through a value: texts under names of secrets, and addresses, become known. Gives the places of secrets. */
function know(value: unknown, depth: number, all = false): readonly Secret[] {
  if (typeof value === 'string') {
    knowAddress(value);
    if (all && !value.includes('://')) knowSecret(value);
    return [];
  }
  if (typeof value === 'function') return carriedSecrets(value);
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return [];
  if (isSecret(value)) return [value];
  if (Array.isArray(value)) return value.flatMap((item, at) => know(item, depth + 1, all || namedBefore(value, at)));
  const members = value instanceof Headers ? [...value] : Object.entries(value);
  return members.flatMap(([name, item]) => {
    if (isSecretName(name) && typeof item === 'string') for (const part of item.split(/\s+/)) knowSecret(part);
    return know(item, depth + 1, all || isSecretName(name));
  });
}

/** An argument behind `--token`, or one that is `--token=value`. */
function namedBefore(items: readonly unknown[], at: number): boolean {
  const [item, before] = [items[at], items[at - 1]];
  const [, name = '', value = ''] = typeof item === 'string' ? (/^--?([\w-]+)=(.+)$/s.exec(item) ?? []) : [];
  if (isSecretName(name)) knowSecret(value);
  return typeof before === 'string' && /^--?[\w-]+$/.test(before) && isSecretName(before);
}

/**
 * Reads secrets, so that they are known. Gives the places of those that cannot be read; one that is not there holds nothing. No two
 * wait for each other.
 */
export async function knowAll(secrets: readonly Secret[]): Promise<readonly string[]> {
  const read = await Promise.all(
    secrets.map(async (secret) => {
      if (secret.problem || secret.isThere?.() === false) return [];
      try {
        const value = await secret.read();
        knowSecret(value);
        knowSecret(value.trim());
        return [];
      } catch {
        return [secret.place];
      }
    }),
  );
  return read.flat();
}
