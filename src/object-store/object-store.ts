import pRetry, { AbortError } from 'p-retry';
import { HoldfastError } from '../core/errors/errors.js';
import { isList, listUrl, namesIn, type ObjectName, objectUrl } from './object-address.js';
import { AnswerTooLarge, type StoreAnswer } from './plain-request.js';
import { type Body, type Credentials, type StoreRequest, sendSigned } from './signed-request.js';
import { brokenConnection, failureOf } from './store-failure.js';

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
