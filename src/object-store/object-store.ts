import pRetry, { AbortError } from 'p-retry';
import { HoldfastError } from '../core/errors/errors.js';
import { AnswerTooLarge, type StoreAnswer } from './plain-request.js';
import { type Body, type Credentials, type StoreRequest, sendSigned } from './signed-request.js';

/** Where the keys of a store come from. */
export interface CredentialSource {
  /** Throws `secret_unreadable`. */
  readonly read: () => Promise<Credentials>;
  /** Others than those that were refused; null: there are none. */
  readonly renewed: (refused: Credentials) => Promise<Credentials | null>;
}

export interface ObjectStoreOptions {
  /** Null: Amazon S3 in `region`. */
  readonly endpoint: string | null;
  readonly region: string;
  readonly credentials: CredentialSource;
  /** For how long nothing may come or go within one request. */
  readonly idleMs: number;
  /** For how long a request is made again whose failure may pass. */
  readonly patienceMs: number;
}

/** What is said of an object beside its content, by names in small letters. */
export type Labels = { readonly [name: string]: string };

/** What is known of an object without its content. */
export interface ObjectHead {
  readonly sizeBytes: number;
  readonly labels: Labels;
}

const LABEL = 'x-amz-meta-';
const CONTENT_BYTES = 4 * 1024 * 1024;

/**
 * Objects of a store that speaks S3's protocol. Every method is made again while its failure may pass, and throws
 * `object_store_unreachable`, `object_store_denied`, `bucket_unknown`, `object_store_failed`.
 */
export class ObjectStore {
  readonly #options: ObjectStoreOptions;

  constructor(options: ObjectStoreOptions) {
    this.#options = options;
  }

  /** Makes an object, unless there is one of this name. Gives whether it was made; lost answers make this `false`, too. */
  async make(name: ObjectName, body: Body, labels: Labels, type: string): Promise<boolean> {
    const said = Object.fromEntries(Object.entries(labels).map(([label, value]) => [`${LABEL}${label}`, value]));
    const request = { method: 'PUT' as const, url: this.#urlOf(name), body };
    const headers = { 'content-type': type, ...said };
    const answer = await this.#ask({ ...request, headers: { ...headers, 'if-none-match': '*' } }, name, [412, 501]);
    // A store that knows no conditions: the caller has looked before.
    if (answer.status === 501) await this.#ask({ ...request, headers }, name);
    return answer.status !== 412;
  }

  /** Null: there is no such object. */
  async head(name: ObjectName): Promise<ObjectHead | null> {
    const request = { method: 'HEAD' as const, url: this.#urlOf(name), headers: {}, body: null };
    const { status, headers } = await this.#ask(request, name, [404]);
    if (status === 404) return null;
    const labels = Object.entries(headers).flatMap(([header, value]) =>
      header.startsWith(LABEL) && typeof value === 'string' ? [[header.slice(LABEL.length), value] as const] : [],
    );
    return { sizeBytes: Number(headers['content-length'] ?? 0), labels: Object.fromEntries(labels) };
  }

  /** The content, of 4 MiB at most; null: there is no such object. */
  async read(name: ObjectName): Promise<string | null> {
    return (await this.bytes(name, CONTENT_BYTES))?.toString('utf8') ?? null;
  }

  /** The content, of so many bytes at most; null: there is no such object. */
  async bytes(name: ObjectName, maxBytes: number): Promise<Buffer | null> {
    const bound = { answerBytes: maxBytes };
    const request = { method: 'GET' as const, url: this.#urlOf(name), headers: {}, body: null, ...bound };
    const answer = await this.#ask(request, name, [404]);
    if (answer.status !== 404) return answer.bytes;
    const failure = failureOf(answer, this.#placeOf(name));
    if (failure.error.code === 'bucket_unknown') throw failure.error;
    return null;
  }

  /** Keys below a prefix in their order, after one, at most 1,000. */
  async list(bucket: string, options: { prefix: string; after?: string; limit: number }): Promise<readonly string[]> {
    const url = listUrl(this.#options, bucket, options);
    const name = { bucket, key: options.prefix };
    const answer = (await this.#ask({ method: 'GET', url, headers: {}, body: null }, name)).bytes.toString('utf8');
    // A page of another server must not pass for an empty store.
    if (isList(answer)) return namesIn(answer);
    throw new HoldfastError(
      'object_store_failed',
      `The store of ${this.#placeOf(name)} does not keep to its protocol: an answer is no list of objects.`,
    );
  }

  /** Removing what is not there does nothing. */
  async remove(name: ObjectName): Promise<void> {
    await this.#ask({ method: 'DELETE', url: this.#urlOf(name), headers: {}, body: null }, name, [404]);
  }

  #urlOf(name: ObjectName): URL {
    return objectUrl(this.#options, name);
  }

  #placeOf({ bucket, key }: ObjectName): string {
    return `s3://${bucket}/${key} at ${objectUrl(this.#options, { bucket, key }).origin}`;
  }

  /** Asks until there is an answer that is a success or one of `also`. */
  async #ask(request: StoreRequest, name: ObjectName, also: readonly number[] = []): Promise<StoreAnswer> {
    const { patienceMs } = this.#options;
    const what = this.#placeOf(name);
    let credentials = await this.#options.credentials.read();
    let renewed = false;
    const attempt = async (): Promise<StoreAnswer> => {
      const answer = await this.#send(request, credentials, what);
      if ((answer.status >= 200 && answer.status < 300) || also.includes(answer.status)) return answer;
      const { error, passes, isKey } = failureOf(answer, what);
      if (passes) throw error;
      const others = isKey && !renewed ? await this.#options.credentials.renewed(credentials) : null;
      if (others === null) throw new AbortError(error);
      [credentials, renewed] = [others, true];
      return attempt();
    };
    return pRetry(attempt, {
      ...{ retries: Number.POSITIVE_INFINITY, minTimeout: 200, maxTimeout: 10_000, factor: 2, randomize: true },
      maxRetryTime: patienceMs,
    });
  }

  async #send(request: StoreRequest, credentials: Credentials, what: string): Promise<StoreAnswer> {
    const { region, idleMs } = this.#options;
    try {
      return await sendSigned(request, { credentials, region, idleMs });
    } catch (error) {
      if (error instanceof AnswerTooLarge)
        throw new AbortError(new HoldfastError('object_store_failed', `The store of ${what}: ${error.message}.`));
      throw unreadable(error) ? new AbortError(error) : brokenConnection(error, what);
    }
  }
}

/** The file to be sent is the trouble, and not the store. */
const unreadable = (error: unknown): error is Error =>
  error instanceof Error && 'syscall' in error && 'path' in error && error.syscall === 'open';

/** Addresses of objects: with the bucket in the path where an endpoint is given, and in the name of the host at Amazon. */

interface ObjectName {
  readonly bucket: string;
  readonly key: string;
}

interface Place {
  readonly endpoint: string | null;
  readonly region: string;
}

function bucketUrl({ endpoint, region }: Place, bucket: string): URL {
  if (endpoint !== null) {
    const url = new URL(endpoint);
    return new URL(`${url.pathname.replace(/\/+$/, '')}/${bucket}`, url.origin);
  }
  const host = `s3.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;
  // The certificate is for one name before the host.
  return bucket.includes('.') ? new URL(`https://${host}/${bucket}`) : new URL(`https://${bucket}.${host}/`);
}

export function objectUrl(place: Place, { bucket, key }: ObjectName): URL {
  const url = bucketUrl(place, bucket);
  const path = key.split('/').map(encodeURIComponent).join('/');
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${path}`;
  return url;
}

export function listUrl(
  place: Place,
  bucket: string,
  { prefix, after, limit }: { readonly prefix: string; readonly after?: string; readonly limit: number },
): URL {
  const url = bucketUrl(place, bucket);
  url.searchParams.set('list-type', '2');
  url.searchParams.set('encoding-type', 'url');
  url.searchParams.set('prefix', prefix);
  url.searchParams.set('max-keys', String(limit));
  if (after !== undefined) url.searchParams.set('start-after', after);
  return url;
}

/** Whether an answer is one of ListObjectsV2. */
const isList = (xml: string): boolean => /<ListBucketResult[\s>/]/.test(xml);

/** The keys in an answer of ListObjectsV2. They are encoded as in addresses, so that nothing of XML is in them. */
function namesIn(xml: string): readonly string[] {
  return [...xml.matchAll(/<Key>([^<]*)<\/Key>/g)].flatMap(([, key = '']) => {
    try {
      return [decodeURIComponent(key.replaceAll('+', ' '))];
    } catch {
      return [];
    }
  });
}

/** What an answer that is no success means, and whether it may be another one later. */
export interface StoreFailure {
  readonly error: HoldfastError;
  readonly passes: boolean;
  /** The key was refused, as one that is not known any more. */
  readonly isKey: boolean;
}

const KEY_CODES = new Set([
  ...['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'ExpiredToken', 'InvalidToken', 'TokenRefreshRequired'],
  ...['AccessDenied', 'InvalidClientTokenId', 'UnrecognizedClientException', 'Unauthorized'],
]);
const REGION_CODES = new Set(['AuthorizationHeaderMalformed', 'PermanentRedirect', 'TemporaryRedirect']);
const PASSING_CODES = new Set(['ConditionalRequestConflict', 'OperationAborted', 'RequestTimeout', 'SlowDown']);

/** Of what a server says the code alone is repeated: a word of letters. */
export function codeOf({ bytes }: StoreAnswer): string | null {
  return /<Code>([A-Za-z0-9.]{1,64})<\/Code>/.exec(bytes.toString('utf8'))?.[1] ?? null;
}

/** `what` is for messages: `s3://bucket/key at https://endpoint`. */
function failureOf(answer: StoreAnswer, what: string): StoreFailure {
  const { status } = answer;
  const code = codeOf(answer);
  const said = code === null ? `answered ${status}` : `answered ${status} ${code}`;
  const failure = (kind: HoldfastError['code'], message: string, passes = false): StoreFailure => ({
    ...{ error: new HoldfastError(kind, message), passes },
    isKey: kind === 'object_store_denied' && !REGION_CODES.has(code ?? ''),
  });
  if (code === 'NoSuchBucket') return failure('bucket_unknown', `There is no bucket for ${what}.`);
  if (code === 'RequestTimeTooSkewed')
    return failure('object_store_denied', `The clocks of this machine and of the store of ${what} differ too much.`);
  if (REGION_CODES.has(code ?? '') || (status >= 300 && status < 400))
    return failure('object_store_denied', `The store of ${what} is that of another region or address: it ${said}.`);
  if (KEY_CODES.has(code ?? '') || status === 401 || status === 403)
    return failure('object_store_denied', `The store of ${what} ${said}.`);
  if (status >= 500 && status !== 501 && status !== 507)
    return failure('object_store_unreachable', `The store of ${what} ${said}.`, true);
  if (status === 429 || status === 408 || PASSING_CODES.has(code ?? ''))
    return failure('object_store_unreachable', `The store of ${what} ${said}.`, true);
  return failure('object_store_failed', `The store of ${what} ${said}.`);
}

/** A connection that could not be made, or broke. */
function brokenConnection(error: unknown, what: string): HoldfastError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const why = code === '' || code === 'ABORT_ERR' ? (error instanceof Error ? error.message : String(error)) : code;
  return new HoldfastError('object_store_unreachable', `The store of ${what} does not answer: ${why.slice(0, 200)}.`, {
    cause: error,
  });
}
