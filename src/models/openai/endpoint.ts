import type { Quirks } from '../../core/models/model-provider-table.js';
import type { Dialect } from '../dialects/dialect.js';
import { HeldSecret } from '../secrets/held-secret.js';
import { isSecretHeader, knowAddress } from '../secrets/known-secrets.js';
import { literalSecret, type Secret } from '../secrets/secret.js';

/** A header whose value is a secret, or ends with one. */
export interface Credential {
  readonly header: string;
  readonly scheme: string;
  readonly secret: HeldSecret;
}

/** Where a server is, and what every request to it carries. */
export interface Destination {
  /** For messages: the name of a known provider, or the host. */
  readonly title: string;
  /** Without user and password, and without a slash at the end. */
  readonly baseURL: string;
  readonly host: string;
  /** For messages: where a person says the address. */
  readonly addressSetting: string;
  readonly credentials: readonly Credential[];
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** How requests leave; null: by the `fetch` of the process. */
  readonly send: typeof fetch | null;
}

/** Where models are served by an API of OpenAI's form. */
export interface Endpoint extends Destination {
  readonly api: 'responses' | 'chat';
  readonly quirks: Quirks;
  /** Null: requests and answers are as the SDK makes and reads them. */
  readonly dialect: Dialect | null;
}

export const DEFAULT_TIMEOUT_MS = 300_000;

interface EndpointOptions {
  readonly title?: string;
  readonly baseURL: string;
  readonly api: Endpoint['api'];
  readonly key: string | Secret | null;
  readonly headers?: Readonly<Record<string, string | Secret>>;
  readonly quirks?: Quirks;
  readonly dialect: Dialect | null;
  readonly timeoutMs?: number;
  readonly send?: typeof fetch | null;
}

export const credentialOf = (header: string, scheme: string, value: string | Secret): Credential => ({
  header,
  scheme,
  secret: new HeldSecret(typeof value === 'string' ? literalSecret(value) : value),
});

/** An endpoint of parts that are known to be valid. Nothing is read. */
export function endpointOf({
  title,
  api,
  key,
  headers = {},
  quirks = {},
  dialect,
  timeoutMs,
  send = null,
  ...parts
}: EndpointOptions): Endpoint {
  const url = new URL(parts.baseURL);
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  const credentials: Credential[] = [];
  const plain: Record<string, string> = {};
  if (key !== null) credentials.push(credentialOf('Authorization', 'Bearer ', key));
  if (user !== ':') {
    knowAddress(parts.baseURL);
    credentials.push(credentialOf('Authorization', 'Basic ', Buffer.from(user, 'utf8').toString('base64')));
  }
  for (const [header, value] of Object.entries(headers)) {
    if (typeof value === 'string' && !isSecretHeader(header)) plain[header] = value;
    else credentials.push(credentialOf(header, '', value));
  }
  return {
    title: title ?? url.host,
    baseURL: `${url.origin}${url.pathname.replace(/\/+$/, '')}`,
    host: url.host,
    addressSetting: 'baseURL',
    ...{ api, credentials, headers: plain, quirks, dialect },
    timeoutMs: timeoutMs ?? DEFAULT_TIMEOUT_MS,
    send,
  };
}
