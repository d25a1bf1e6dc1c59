import { isRecord } from '../../core/json.js';
import { firstUnknownName } from '../../core/nearest-name.js';
import { isThisMachine } from '../../core/secrets/secret-place.js';
import { HeldSecret } from '../../models/secrets/held-secret.js';
import { isSecret, type Secret } from '../../models/secrets/secret.js';
import { invalidTool } from '../define/tool-declaration.js';

/** A secret that requests to one origin carry. No one sees it: it is put in where the request leaves. */
export interface BoundCredential {
  /** `https://host`, with a port where it is another than 443. */
  readonly origin: string;
  readonly secret: Secret;
  /** Default `Authorization`. */
  readonly header?: string;
  /** What stands before the secret. Default `Bearer ` in `Authorization`, and nothing elsewhere. */
  readonly prefix?: string;
}

interface Held {
  readonly origin: string;
  readonly header: string;
  readonly prefix: string;
  readonly secret: HeldSecret;
}

/** Where a tool, or a function that sends, carries its secrets; the same in every copy of this module. */
const SECRETS = Symbol.for('holdfast.secrets');
const HEADER = /^[!#$%&'*+.^_`|~\w-]{1,128}$/;
/** What decides where a request goes and where it ends. */
const NOT_OURS = /^(host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|proxy-.*)$/;

/** The credentials of one who sends. */
export class BoundCredentials {
  readonly #held: readonly Held[];

  /** `plain`: origins without encryption to which they may go. Throws `tool_invalid`. */
  constructor(owner: string, declared: readonly BoundCredential[], plain: (url: URL) => boolean = () => false) {
    assertCredentials(owner, declared);
    this.#held = declared.map(({ origin, secret, header = 'Authorization', prefix }, index) => {
      const invalid = (field: string, message: string) =>
        invalidTool(owner, [{ path: ['credentials', index, field], message }]);
      const url = URL.canParse(origin) ? new URL(origin) : null;
      if (url === null || url.origin !== origin)
        throw invalid('origin', 'must be written https://host or https://host:port');
      if (url.protocol !== 'https:' && !isThisMachine(url) && !plain(url))
        throw invalid('origin', 'must begin with https://, unless it is this machine');
      if (!isSecret(secret)) throw invalid('secret', 'must be a secret, such as secret.env(name)');
      if (secret.problem) throw invalid('secret', secret.problem);
      const name = header.toLowerCase();
      if (!HEADER.test(name) || NOT_OURS.test(name))
        throw invalid('header', 'must be a header that may carry a credential');
      const before = prefix ?? (name === 'authorization' ? 'Bearer ' : '');
      if (!/^[\x20-\x7e]{0,100}$/.test(before)) throw invalid('prefix', 'must be printable ASCII');
      return { origin, header: name, prefix: before, secret: new HeldSecret(secret) };
    });
  }

  get origins(): readonly string[] {
    return [...new Set(this.#held.map(({ origin }) => origin))];
  }

  /** The headers of a request to an origin. Throws `secret_unreadable`. */
  async headersFor(origin: string): Promise<ReadonlyMap<string, string>> {
    const own = this.#held.filter((one) => one.origin === origin);
    return new Map(
      await Promise.all(
        own.map(async ({ header, prefix, secret }) => [header, prefix + (await secret.value())] as const),
      ),
    );
  }

  /** Reads again what a server refused, for the next request. */
  async refused(origin: string): Promise<void> {
    for (const one of this.#held) if (one.origin === origin) await one.secret.renewed(await one.secret.value());
  }
}

const NAMES = { origin: true, secret: true, header: true, prefix: true } satisfies {
  readonly [Name in keyof Required<BoundCredential>]: true;
};

/** A program in JavaScript may give anything, and under a mistyped name a secret would go out in another header. Throws `tool_invalid`. */
function assertCredentials(owner: string, declared: unknown): void {
  if (!Array.isArray(declared)) throw invalidTool(owner, [{ path: ['credentials'], message: 'must be a list' }]);
  for (const [index, one] of declared.entries()) {
    if (!isRecord(one)) throw invalidTool(owner, [{ path: ['credentials', index], message: 'must be an object' }]);
    const unknown = firstUnknownName(one, Object.keys(NAMES));
    if (unknown === undefined) continue;
    const path = ['credentials', index, unknown.name];
    throw invalidTool(owner, [{ path, message: unknown.detail }]);
  }
}

/** Lets an engine know where the secrets of a tool or a server are, so that they are known before it says anything. */
export const carrySecrets = <T extends object>(owner: T, secrets: readonly Secret[]): T =>
  Object.defineProperty(owner, SECRETS, { value: secrets });

/** The secrets that something carries; of anything else none. */
export function carriedSecrets(owner: unknown): readonly Secret[] {
  if ((typeof owner !== 'object' && typeof owner !== 'function') || owner === null) return [];
  const carried: unknown = Reflect.get(owner, SECRETS);
  return Array.isArray(carried) ? carried.filter(isSecret) : [];
}

/**
 * A `fetch` for servers of the Model Context Protocol: `new MCPServerStreamableHttp({ url, fetch: credentialFetch([…]) })`. Requests to an
 * origin carry its credential. A redirect is not followed. Throws `tool_invalid`.
 */
export function credentialFetch(declared: readonly BoundCredential[]): typeof fetch {
  const credentials = new BoundCredentials('credentialFetch', declared);
  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, { ...init, redirect: 'manual' });
    const { origin } = new URL(request.url);
    for (const [name, value] of await credentials.headersFor(origin)) request.headers.set(name, value);
    const response = await fetch(request);
    if (response.status === 401 || response.status === 403) await credentials.refused(origin);
    if (response.status < 300 || response.status >= 400) return response;
    await response.body?.cancel();
    throw new Error(`${origin} answers ${response.status} and redirects, which is not followed`);
  };
  return carrySecrets(
    send,
    declared.map(({ secret }) => secret),
  );
}
