import { createHash, createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { chmod, link, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { installationOf, TOKEN_LENGTH_MIN, type Token } from '../../core/access-token.js';
import type { Caller } from '../../core/caller.js';
import { codeOrText, HoldfastError } from '../../core/errors/errors.js';
import { knowSecret } from '../../models/secrets/known-secrets.js';
import { takeDataDir } from '../../storage/database/data-dir/data-dir.js';

/** Who a token belongs to. */
export interface Identity {
  readonly caller: Caller;
  /** Tells tokens apart without being one. */
  readonly tokenId: string;
  /** Fires when the token is not one of the server any more. Its reason is the `unauthenticated` that a request is refused with. */
  readonly revoked: AbortSignal;
}

interface Entry {
  readonly digest: Buffer;
  /** Derived from the token: what signs the cookies of its sign-ins. They end with the token. */
  readonly cookieKey: Buffer;
  readonly identity: Identity;
  readonly revoke: () => void;
}

const noTokenAnyMore = (): HoldfastError =>
  new HoldfastError('unauthenticated', 'The token is not one of this server any more.');

const digest = (token: string): Buffer => createHash('sha256').update(token, 'utf8').digest();

/** The tokens of a server, which may be replaced while it serves. */
export class TokenList {
  #entries: readonly Entry[] = [];

  constructor(tokens: readonly Token[]) {
    this.replace(tokens);
  }

  /** What is as it was stays as it is; a token that is gone, or now someone else's or of another role, is revoked. */
  replace(tokens: readonly Token[]): void {
    const before = this.#entries;
    this.#entries = tokens.map((token) => {
      const fresh = entryOf(token, tokens);
      return before.find((entry) => isSame(entry, fresh)) ?? fresh;
    });
    for (const entry of before) if (!this.#entries.includes(entry)) entry.revoke();
  }

  /** Finds whose a token is. Takes the same time whether and where it matches: digests are compared, and all of them. */
  check(presented: string): Identity | null {
    const candidate = digest(presented);
    return this.#entries.filter((entry) => timingSafeEqual(entry.digest, candidate))[0]?.identity ?? null;
  }

  /** Finds the token with an id that a cookie names, and the key that must have signed the cookie. */
  withId(tokenId: string): Pick<Entry, 'identity' | 'cookieKey'> | null {
    return this.#entries.find(({ identity }) => identity.tokenId === tokenId) ?? null;
  }
}

const isSame = (a: Entry, b: Entry): boolean =>
  a.digest.equals(b.digest) && isDeepStrictEqual(a.identity.caller, b.identity.caller);

function entryOf(one: Token, all: readonly Token[]): Entry {
  const { token, actor, role, tenant } = one;
  knowSecret(token);
  const installation = installationOf(one, all);
  const caller = { actor, role, tenant, ...(installation === undefined ? {} : { installation }) };
  const revoking = new AbortController();
  // As many as the token has requests and streams listen to it.
  setMaxListeners(0, revoking.signal);
  const own = digest(token);
  const identity = { caller, tokenId: own.toString('hex'), revoked: revoking.signal };
  const cookieKey = createHmac('sha256', token).update('holdfast sign-in 1').digest();
  return { digest: own, cookieKey, identity, revoke: () => revoking.abort(noTokenAnyMore()) };
}

/** Reads `Authorization: Bearer <token>`; null when there is no such thing. */
export const bearerOf = (header: string | undefined): string | null =>
  /^bearer +([\x21-\x7e]+) *$/i.exec(header ?? '')?.[1] ?? null;

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

async function readToken(file: string): Promise<string | null> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (cause) {
    if (hasCode(cause, 'ENOENT')) return null;
    throw new HoldfastError('config_invalid', `The token file ${file} cannot be read (${codeOrText(cause)}).`, {
      cause,
      hint: 'Let this user read it, or set HOLDFAST_DATA_DIR to another directory.',
    });
  }
  const token = content.trim();
  if (token.length >= TOKEN_LENGTH_MIN && bearerOf(`Bearer ${token}`) === token) {
    await chmod(file, 0o600);
    return token;
  }
  throw new HoldfastError('config_invalid', `The token file ${file} does not hold one token.`, {
    hint: 'Delete the file; the next start makes a new token.',
  });
}

/** Written aside and linked into place, so that a crash leaves no half token and of two starts only one decides. */
async function makeToken(dataDir: string, file: string): Promise<void> {
  const draft = join(dataDir, `token.${randomUUID()}`);
  await writeFile(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
  try {
    await link(draft, file);
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  } finally {
    await unlink(draft);
  }
}

const fileIn = (dataDir: string): string => join(dataDir, 'token');
const ofAdmin = (token: string): Token => {
  knowSecret(token);
  return { token, actor: 'admin', role: 'admin', tenant: 'default', installation: 'operator' };
};

/** The made token if there is one; makes nothing. Throws `config_invalid` when the file is unreadable or damaged. */
export async function keptToken(dataDir: string): Promise<Token | null> {
  const token = await readToken(fileIn(dataDir));
  return token === null ? null : ofAdmin(token);
}

/**
 * The admin token of a server without configured tokens: `<dataDir>/token`, mode 600, made at the first start and read at
 * every other. Throws `config_invalid` when the file is unreadable or damaged, or the directory cannot
 * be used.
 */
export async function madeToken(dataDir: string): Promise<Token> {
  const file = fileIn(dataDir);
  let found: string | null;
  try {
    takeDataDir(dataDir);
    found = await readToken(file);
    if (found === null) await makeToken(dataDir, file);
  } catch (cause) {
    if (cause instanceof HoldfastError) throw cause;
    throw new HoldfastError('config_invalid', `The data directory ${dataDir} cannot be used: ${codeOrText(cause)}.`, {
      cause,
      hint: 'Set HOLDFAST_DATA_DIR to a directory that this user may write.',
    });
  }
  const token = found ?? (await readToken(file));
  if (token === null) throw new HoldfastError('config_invalid', `The token file ${file} vanished while it was made.`);
  return ofAdmin(token);
}
