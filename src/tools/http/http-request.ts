import { z } from 'zod';
import { HTTP_METHODS, type HttpMethod } from '../../core/grants/capability-url.js';
import { sha256 } from '../../core/json.js';
import type { ToolContext } from '../../core/tools/tool.js';
import { shownPart, withoutKnownSecrets } from '../../models/secrets/known-secrets.js';
import { type DeclaredTool, defineTool } from '../define/define-tool.js';
import { invalidTool } from '../define/tool-declaration.js';
import { boundOf, readOptions } from '../define/tool-options.js';
import { type BoundCredential, BoundCredentials, carrySecrets } from './bound-credential.js';
import { hostAndPort, type Resolve, systemResolve } from './http-address.js';
import { exchange } from './http-exchange.js';
import type { HttpMessage } from './http-send.js';

export interface HttpRequestOptions {
  /** Default: all. With `get` and `head` alone the tool is named `http_get` and is `pure`. */
  readonly methods?: readonly HttpMethod[];
  /** Default 131,072. A longer answer is cut. */
  readonly maxResponseBytes?: number;
  /** For the whole exchange with all redirects. Default 30,000. */
  readonly timeoutMs?: number;
  /** Default 5. */
  readonly maxRedirects?: number;
  /** `host:port` of services that may be reached although their addresses are not public. */
  readonly allowPrivateAddresses?: readonly string[];
  /**
   * Secrets that requests to an origin carry: `{ origin: 'https://api.example', secret: secret.env('KEY') }`. The model names none and sees
   * none. Default: none.
   */
  readonly credentials?: readonly BoundCredential[];
  /** How names become addresses. Default: as the system does it. */
  readonly resolve?: Resolve;
}

const OPTIONS = {
  methods: z
    .array(z.enum(HTTP_METHODS))
    .min(1, 'names no method')
    .default([...HTTP_METHODS]),
  maxResponseBytes: boundOf(6).default(131_072),
  timeoutMs: z.int().min(1).max(3_600_000).default(30_000),
  maxRedirects: z.int().min(0).max(20).default(5),
  allowPrivateAddresses: z.array(z.string()).default([]),
  credentials: z.custom<readonly BoundCredential[]>(Array.isArray, 'expected a list').default([]),
  resolve: z.custom<Resolve>((value) => typeof value === 'function', 'must be a function').default(() => systemResolve),
};

const READING: ReadonlySet<string> = new Set(['get', 'head']);
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;
/** Headers that could break the framing, the host or the key of the request. */
const OWN_HEADERS =
  /^(host|connection|keep-alive|content-length|content-encoding|transfer-encoding|te|trailer|upgrade|expect|accept-encoding|idempotency-key|proxy-.*)$/;
/**
 * Words of headers that give a server, a gateway or a framework another method, host, path, user or address of the caller than the
 * request has. Servers read "_" and other signs in a name as "-".
 */
const REROUTING_WORDS: ReadonlySet<string> = new Set([
  ...['method', 'verb', 'override', 'overridden', 'rewrite', 'rewritten', 'replaced', 'original', 'originating'],
  ...['url', 'uri', 'path', 'prefix', 'host', 'hostname', 'script', 'destination', 'destinationurl'],
  ...['forward', 'forwarded', 'proxy', 'proxyuser', 'upstream', 'backend', 'route', 'reroute', 'redirect', 'envoy'],
  ...['accel', 'sendfile', 'invoke', 'matched', 'middleware', 'subrequest', 'translate', 'ip', 'addr'],
  ...['remote', 'webauth', 'ssl', 'cert', 'impersonate', 'impersonated', 'authenticated', 'principal', 'oidc'],
  ...['consumer', 'userinfo', 'tailscale', 'appengine'],
]);

const isRerouting = (name: string): boolean =>
  name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .some((word, at, words) => REROUTING_WORDS.has(word) || (word === 'auth' && words[at + 1] === 'request'));

const header = z.object({
  name: z
    .string()
    .max(128)
    .refine((name) => HEADER_NAME.test(name), 'must be the name of a header')
    .refine((name) => !OWN_HEADERS.test(name.toLowerCase()), 'is a header that is set by the tool itself')
    .refine(
      (name) => !isRerouting(name),
      'is a header that may make a server take another method, URL or caller than the one that is granted',
    ),
  value: z
    .string()
    .max(8192)
    .refine((value) => HEADER_VALUE.test(value), 'must be printable ASCII'),
});

const output = z.object({
  status: z.int(),
  url: z.string(),
  headers: z.array(z.object({ name: z.string(), value: z.string() })),
  body: z.string(),
  bodyEncoding: z.enum(['utf8', 'base64']),
  truncated: z.boolean(),
});

/**
 * `http_request`: one HTTP exchange. Needs `network:http:<method> <url>` for the URL and for every redirect. Connects only to public
 * addresses, which are resolved once and then used. Every request that is not a GET or HEAD carries `Idempotency-Key`; since not
 * every server honours it, the tool counts as `unsafe` unless it can only read.
 */
export function httpRequestTool(options: HttpRequestOptions = {}): DeclaredTool {
  const read = readOptions('http_request', OPTIONS, options);
  const { methods, maxResponseBytes, maxRedirects, credentials: declared, resolve } = read;
  const reads = methods.every((method) => READING.has(method));
  const name = reads ? 'http_get' : 'http_request';
  const allowPrivate = new Set(read.allowPrivateAddresses.map((entry) => privateAddress(entry, name)));
  const isPrivate = (url: URL): boolean => allowPrivate.has(hostAndPort(url));
  const credentials = new BoundCredentials(name, declared, isPrivate);
  const { origins } = credentials;
  const signedIn = origins.length === 0 ? '' : ` Requests to ${origins.join(', ')} are signed in already.`;
  const made = defineTool({
    untrusted: 'web',
    name,
    description: `Sends one HTTP request (${methods.join(', ')}) and gives the answer; at most ${maxResponseBytes} bytes of its body.${signedIn}`,
    input: z
      .object({
        method: z.enum(methods),
        url: z
          .string()
          .max(4096)
          .refine((url) => /^https?:\/\//i.test(url), 'must be a URL that starts with https:// or http://'),
        headers: z.array(header).max(50).optional(),
        body: z.string().max(1_048_576).optional(),
      })
      .refine(({ method, body }) => body === undefined || !READING.has(method), {
        path: ['body'],
        message: 'cannot be sent with get or head',
      }),
    output,
    capabilities: ({ method, url }) => [`network:http:${method} ${url}`],
    effect: reads ? 'pure' : 'unsafe',
    timeoutMs: read.timeoutMs,
    maxOutputBytes: maxResponseBytes * 6 + 262_144,
    execute: async (input, context) => {
      const answer = await exchange(input.url, messageOf(input, context), {
        ...{ maxResponseBytes, maxRedirects, allowPrivate, credentials, resolve },
        signal: context.signal,
        require: context.require,
      });
      const { status, url, headers, truncated } = answer;
      const shown = headers.map(({ name: of, value }) => ({ name: of, value: withoutKnownSecrets(value) }));
      const { body, bodyEncoding } = textOf(answer.body, truncated);
      const clean = { url: withoutKnownSecrets(url), headers: shown, body: shownPart(body, truncated) };
      return { status, ...clean, bodyEncoding, truncated };
    },
  });
  return carrySecrets(
    made,
    declared.map(({ secret }) => secret),
  );
}

function privateAddress(entry: string, tool: string): string {
  const address = `http://${entry}/`;
  if (URL.canParse(address)) {
    const url = new URL(address);
    if (hostAndPort(url) === entry) return entry;
  }
  throw invalidTool(tool, [{ path: ['allowPrivateAddresses'], message: `"${entry}" is not written host:port` }]);
}

interface Asked {
  readonly method: string;
  readonly headers?: readonly { readonly name: string; readonly value: string }[] | undefined;
  readonly body?: string | undefined;
}

function messageOf({ method, headers = [], body }: Asked, context: ToolContext): HttpMessage {
  const sent = new Map([
    ['accept', '*/*'],
    ['user-agent', 'holdfast'],
  ]);
  for (const { name, value } of headers) sent.set(name.toLowerCase(), value);
  sent.set('accept-encoding', 'identity');
  if (!READING.has(method)) {
    sent.set('content-length', String(Buffer.byteLength(body ?? '')));
    sent.set('idempotency-key', headerKey(context.idempotencyKey));
  }
  return { method, headers: sent, body: body ?? null };
}

/** A call id comes from a model; what a header cannot carry is sent as its digest. */
const headerKey = (key: string): string => (/^[\x21-\x7e]{1,255}$/.test(key) ? key : sha256(key));

/** Text where it is UTF-8; of a body that was cut, the last character may be missing. */
function textOf(body: Buffer, truncated: boolean): { readonly body: string; readonly bodyEncoding: 'utf8' | 'base64' } {
  try {
    return {
      body: new TextDecoder('utf-8', { fatal: true }).decode(body, { stream: truncated }),
      bodyEncoding: 'utf8',
    };
  } catch {
    return { body: body.toString('base64'), bodyEncoding: 'base64' };
  }
}
