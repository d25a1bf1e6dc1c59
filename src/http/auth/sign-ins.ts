import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Request } from 'express';
import { HoldfastError } from '../../core/errors/errors.js';
import type { SignInBody } from '../../core/operations/sign-ins.js';
import { isLoopback, nameOf } from './host.js';
import { assertFromConsole } from './same-site.js';
import { bearerOf, type Identity, type TokenList } from './tokens.js';

const MINUTE_MS = 60_000;
const KEYS_MOST = 10_000;

/** Counts what comes under a key in a minute. It forgets all counts when the minute is over, or when there are too many keys. */
interface Rate {
  /** Throws `rate_limited`; `what` names what there are too many of. */
  take(key: string, what: string): void;
  /** Throws `rate_limited` where one more is too many, and counts nothing. */
  assertFree(key: string, what: string): void;
}

function createRate(perMinute: number, now: () => number = Date.now): Rate {
  const counts = new Map<string, number>();
  let since = now();
  const tooMany = (what: string): HoldfastError =>
    new HoldfastError('rate_limited', `There were more than ${perMinute} ${what} in a minute.`);
  const isOver = (): boolean => now() - since >= MINUTE_MS;
  return {
    assertFree(key, what) {
      if (!isOver() && (counts.get(key) ?? 0) >= perMinute) throw tooMany(what);
    },
    take(key, what) {
      if (isOver() || (!counts.has(key) && counts.size >= KEYS_MOST)) {
        counts.clear();
        since = now();
      }
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      if (count > perMinute) throw tooMany(what);
    },
  };
}

/**
 * Sign-ins of browsers. The cookie says which token it stands for and since when, signed by a key that is derived from that token:
 * every process that has the token knows it, and it ends when the token is removed (docs/decisions/0011-sign-ins-without-a-table.md).
 */

const HOUR_MS = 3_600_000;
const IDLE_MS = 12 * HOUR_MS;
const LONGEST_MS = 7 * 24 * HOUR_MS;
const PER_MINUTE = { wrongTokens: 10, requests: 600 };
const ENDED_MOST = 10_000;
const CODE_MS = 60_000;

export interface SignedIn {
  readonly identity: Identity;
  /** Names the sign-in. */
  readonly id: string;
  readonly since: number;
  readonly expiresAt: number;
}

export interface SignInsOptions {
  readonly tokens: TokenList;
  /** Where browsers reach the server, if a proxy stands before it. */
  readonly publicUrl: URL | null;
  readonly port: number;
  /** False: no cookie counts, also of a sign-in that another process has made. */
  readonly taken: boolean;
}

const digits = /^[0-9a-z]{1,11}$/;

export class SignIns {
  readonly #options: SignInsOptions;
  readonly #wrong: Rate = createRate(PER_MINUTE.wrongTokens);
  readonly #requests: Rate = createRate(PER_MINUTE.requests);
  /** Those that ended before their time, oldest first. */
  readonly #ended = new Set<string>();
  /** Codes that were used, until their time is over anyway. */
  readonly #used = new Map<string, number>();

  constructor(options: SignInsOptions) {
    this.#options = options;
  }

  /** Throws `tls_required`, `cross_site`, `rate_limited` and `unauthenticated`. */
  begin(request: Request, { token, code = '' }: SignInBody): SignedIn & { readonly cookie: string } {
    this.#place(request);
    assertFromConsole(request);
    const identity =
      token === undefined
        ? this.#checked(request, () => this.#ofCode(code), 'The code was used, is too old, or is not of this server.')
        : this.#checked(request, () => this.#options.tokens.check(token), 'The token is not one of this server.');
    return this.#made(request, identity, randomBytes(12).toString('base64url'), Date.now());
  }

  /** A code that signs a browser in once, as who shows this token. Throws `unauthenticated` and `rate_limited`. */
  code(request: Request): { readonly code: string; readonly expiresAt: number } {
    const presented = bearerOf(request.headers.authorization);
    const check = () => (presented === null ? null : this.#options.tokens.check(presented));
    const { tokenId } = this.#checked(request, check, 'A code is given for a bearer token of this server alone.');
    const known = this.#options.tokens.withId(tokenId);
    if (known === null) throw new HoldfastError('unauthenticated', 'The token is not one of this server any more.');
    const expiresAt = Date.now() + CODE_MS;
    const text = [tokenId, randomBytes(12).toString('base64url'), expiresAt.toString(36)].join('.');
    return { code: `${text}.${codeSignature(known.cookieKey, text)}`, expiresAt };
  }

  /** Counts wrong ones by the address that they come from. */
  #checked(request: Request, check: () => Identity | null, refusal: string): Identity {
    const address = request.socket.remoteAddress ?? '';
    const what = 'wrong tokens or codes from this address';
    this.#wrong.assertFree(address, what);
    const identity = check();
    if (identity !== null) return identity;
    this.#wrong.take(address, what);
    throw new HoldfastError('unauthenticated', refusal);
  }

  /** Whose code this is, which is used by this; null: it is none, too old, or was used in this process. */
  #ofCode(code: string): Identity | null {
    const [tokenId = '', nonce = '', until = '', signed = '', ...more] = code.split('.');
    const known = this.#options.tokens.withId(tokenId);
    if (known === null || more.length > 0 || !digits.test(until)) return null;
    if (!isSame(codeSignature(known.cookieKey, [tokenId, nonce, until].join('.')), signed)) return null;
    const now = Date.now();
    for (const [used, end] of this.#used) if (end <= now) this.#used.delete(used);
    const expiresAt = Number.parseInt(until, 36);
    if (expiresAt <= now || this.#used.has(nonce) || this.#used.size >= ENDED_MOST) return null;
    this.#used.set(nonce, expiresAt);
    return known.identity;
  }

  /** Who signed in in the browser that asks; null: no one. Throws `cross_site` and `rate_limited`. */
  of(request: Request): SignedIn | null {
    const place = this.#options.taken ? this.#placeOf(request) : null;
    const value = place === null ? null : cookieIn(request, place.name);
    const found = value === null ? null : this.#read(value);
    if (found === null) return null;
    assertFromConsole(request);
    this.#requests.take(found.id, 'requests of this sign-in');
    return found;
  }

  /** The same sign-in with a cookie that counts its idle time from now. */
  renewed(request: Request, { identity, id, since }: SignedIn): SignedIn & { readonly cookie: string } {
    return this.#made(request, identity, id, since);
  }

  /** Ends a sign-in in this process, and gives the cookie that ends it in the browser. */
  end(request: Request, { id }: SignedIn): string {
    const [oldest] = this.#ended;
    if (this.#ended.size >= ENDED_MOST && oldest !== undefined) this.#ended.delete(oldest);
    this.#ended.add(id);
    const { name, attributes } = this.#place(request);
    return `${name}=; ${attributes}; Max-Age=0`;
  }

  #made(request: Request, identity: Identity, id: string, since: number): SignedIn & { readonly cookie: string } {
    const now = Date.now();
    const { name, attributes } = this.#place(request);
    const known = this.#options.tokens.withId(identity.tokenId);
    if (known === null) throw new HoldfastError('unauthenticated', 'The token is not one of this server any more.');
    const text = [identity.tokenId, id, since.toString(36), now.toString(36)].join('.');
    const expiresAt = Math.min(now + IDLE_MS, since + LONGEST_MS);
    const maxAge = Math.floor((expiresAt - now) / 1000);
    const cookie = `${name}=${text}.${signature(known.cookieKey, text)}; ${attributes}; Max-Age=${maxAge}`;
    return { identity, id, since, expiresAt, cookie };
  }

  #read(value: string): SignedIn | null {
    const [tokenId = '', id = '', since = '', seen = '', signed = '', ...more] = value.split('.');
    const known = this.#options.tokens.withId(tokenId);
    if (known === null || more.length > 0 || !digits.test(since) || !digits.test(seen)) return null;
    if (!isSame(signature(known.cookieKey, [tokenId, id, since, seen].join('.')), signed)) return null;
    const begunAt = Number.parseInt(since, 36);
    const expiresAt = Math.min(Number.parseInt(seen, 36) + IDLE_MS, begunAt + LONGEST_MS);
    if (expiresAt <= Date.now() || this.#ended.has(id)) return null;
    return { identity: known.identity, id, since: begunAt, expiresAt };
  }

  #place(request: Request): Place {
    const place = this.#placeOf(request);
    if (place !== null) return place;
    throw new HoldfastError(
      'tls_required',
      `A browser asked at "${request.headers.host ?? ''}", which is neither this machine nor an https:// address in HOLDFAST_PUBLIC_URL.`,
    );
  }

  /** Cookies do not know ports: the name keeps two servers of one machine apart. */
  #placeOf({ headers: { host = '' } }: Request): Place | null {
    const { publicUrl, port } = this.#options;
    if (publicUrl?.protocol === 'https:' && host.toLowerCase() === publicUrl.host)
      return { name: '__Host-holdfast', attributes: 'Path=/; Secure; HttpOnly; SameSite=Strict' };
    if (!isLoopback(nameOf(host))) return null;
    return { name: `holdfast-${port}`, attributes: 'Path=/; HttpOnly; SameSite=Strict' };
  }
}

interface Place {
  readonly name: string;
  readonly attributes: string;
}

const signature = (key: Buffer, text: string): string => createHmac('sha256', key).update(text).digest('base64url');

/** Another signature than that of a cookie: neither stands for the other. */
const codeSignature = (key: Buffer, text: string): string => signature(key, `code ${text}`);

/** Takes the same time wherever they differ. */
function isSame(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

function cookieIn({ headers: { cookie = '' } }: Request, name: string): string | null {
  const start = `${name}=`;
  const found = cookie.split('; ').find((part) => part.startsWith(start));
  return found === undefined ? null : found.slice(start.length);
}
