import type { LookupAddress, LookupOptions } from 'node:dns';
import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { HoldfastError } from '../../core/errors/errors.js';

const MAX_HEADER_BYTES = 16_384;

export interface HttpMessage {
  readonly method: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string | null;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly location: string | null;
  readonly body: Buffer;
  /** The body was longer than the bound; the rest was not read. */
  readonly truncated: boolean;
}

/**
 * One request and its answer, over a connection of its own to one of the given addresses: no redirects, no proxy, no reuse, no
 * decompression. The name is kept for `Host` and for the certificate. Throws `tool_failed`, or what the signal says.
 */
export async function sendOnce(
  url: URL,
  addresses: readonly LookupAddress[],
  message: HttpMessage,
  bounds: { readonly maxResponseBytes: number; readonly signal: AbortSignal },
): Promise<HttpAnswer> {
  try {
    const response = await begin(open(url, addresses, message, bounds.signal), message.body);
    const { body, truncated } = await readBounded(response, bounds.maxResponseBytes);
    return {
      status: response.statusCode ?? 0,
      headers: headersOf(response),
      location: response.headers.location ?? null,
      body,
      truncated,
    };
  } catch (cause) {
    bounds.signal.throwIfAborted();
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new HoldfastError(
      'tool_failed',
      `${url.origin} did not answer properly (${why}). Whether it did what was asked is not known.`,
      { cause },
    );
  }
}

function open(url: URL, addresses: readonly LookupAddress[], message: HttpMessage, signal: AbortSignal): ClientRequest {
  const options = {
    method: message.method.toUpperCase(),
    headers: Object.fromEntries(message.headers),
    maxHeaderSize: MAX_HEADER_BYTES,
    lookup: pinned(addresses),
    signal,
  };
  // Agents of our own: the global ones may be told by the environment to use a proxy.
  return url.protocol === 'https:'
    ? httpsRequest(url, { ...options, agent: new HttpsAgent(), rejectUnauthorized: true })
    : httpRequest(url, { ...options, agent: new HttpAgent() });
}

/** Answers with the addresses that were checked, whatever a resolver would say by now. */
const pinned =
  (addresses: readonly LookupAddress[]): LookupFunction =>
  (_host: string, options: LookupOptions, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? '', first?.family);
  };

const begin = (request: ClientRequest, body: string | null): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.once('error', reject);
    request.once('close', () => reject(new Error('the connection was closed')));
    request.end(body ?? undefined);
  });

async function readBounded(response: IncomingMessage, maxBytes: number): Promise<{ body: Buffer; truncated: boolean }> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    size += bytes.length;
    // Leaving the loop destroys the connection.
    if (size > maxBytes) break;
  }
  return { body: Buffer.concat(chunks).subarray(0, maxBytes), truncated: size > maxBytes };
}

/** Cookies are credentials: they are neither kept nor shown. */
const headersOf = (response: IncomingMessage) =>
  Object.entries(response.headersDistinct).flatMap(([name, values]) =>
    name === 'set-cookie' ? [] : (values ?? []).map((value) => ({ name, value })),
  );
