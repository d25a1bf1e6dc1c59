import { HoldfastError } from '../../core/errors/errors.js';
import { canonicalHttpUrl } from '../../core/grants/capability-url.js';
import type { BoundCredentials } from './bound-credential.js';
import { checkedAddresses, type Resolve } from './http-address.js';
import { type HttpAnswer, type HttpMessage, sendOnce } from './http-send.js';

export interface HttpBounds {
  readonly maxResponseBytes: number;
  readonly maxRedirects: number;
  readonly allowPrivate: ReadonlySet<string>;
  readonly resolve: Resolve;
  readonly signal: AbortSignal;
  /** What requests to an origin carry, which is put in where they leave. */
  readonly credentials: BoundCredentials;
  /** Throws unless the run holds the capability. */
  readonly require: (capability: string) => void;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** What another host may get of the headers; everything else could be a credential. */
const FOLLOWING_HEADERS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'content-type',
  'content-length',
  'user-agent',
]);

/**
 * Sends a request and follows its redirects. Every hop is asked for as a capability, on its canonical URL, and its addresses are
 * checked, before a connection is made. Headers that may be credentials stay with the host that they were given for.
 */
export async function exchange(
  address: string,
  first: HttpMessage,
  bounds: HttpBounds,
): Promise<HttpAnswer & { readonly url: string }> {
  let url = canonicalHttpUrl(address);
  let message = first;
  // Where another origin sends someone, nothing of theirs is carried: it could not be told from what the model meant.
  let isOwn = true;
  for (let hop = 0; hop <= bounds.maxRedirects; hop++) {
    bounds.require(`network:http:${message.method} ${url.href}`);
    bounds.signal.throwIfAborted();
    const addresses = await unlessAborted(checkedAddresses(url, bounds.resolve, bounds.allowPrivate), bounds.signal);
    const carried = isOwn ? await bounds.credentials.headersFor(url.origin) : new Map<string, string>();
    const headers = new Map([...message.headers, ...carried]);
    const answer = await sendOnce(url, addresses, { ...message, headers }, bounds);
    if (carried.size > 0 && (answer.status === 401 || answer.status === 403))
      await bounds.credentials.refused(url.origin);
    if (!REDIRECTS.has(answer.status) || answer.location === null) return { ...answer, url: url.href };
    const next = nextUrl(answer.location, url);
    isOwn &&= next.origin === url.origin;
    message = following(message, answer.status, next.origin === url.origin);
    url = next;
  }
  throw new HoldfastError('tool_failed', `${address} was redirected more than ${bounds.maxRedirects} times.`);
}

function nextUrl(location: string, from: URL): URL {
  const resolved = URL.canParse(location, from.href) ? new URL(location, from.href).href : location;
  try {
    return canonicalHttpUrl(resolved);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HoldfastError('capability_denied', `The redirect from ${from.origin} is not followed. ${why}`, { cause });
  }
}

/** RFC 9110, 15.4: after 303, and by custom after 301 and 302 of a POST, the next request is a GET without a body. */
function following(message: HttpMessage, status: number, sameOrigin: boolean): HttpMessage {
  const becomesGet =
    (status === 303 && message.method !== 'head') || ((status === 301 || status === 302) && message.method === 'post');
  const headers = new Map(
    [...message.headers].filter(([name]) => {
      if (becomesGet && (name.startsWith('content-') || name === 'idempotency-key')) return false;
      return sameOrigin || FOLLOWING_HEADERS.has(name);
    }),
  );
  return becomesGet ? { method: 'get', headers, body: null } : { ...message, headers };
}

/** Stops waiting for what cannot be stopped itself. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let stop: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}
