import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { HoldfastError } from '../core/errors/errors.js';
import {
  addressIn,
  brokenHub,
  HubFailure,
  hubCodeOf,
  hubFailureOf,
  parsedAnswer,
  patiently,
  strangeAnswer,
} from './hub-answer.js';
import { storeLarge } from './hub-large-file.js';
import { AnswerTooLarge, type PlainRequest, type StoreAnswer, sendPlain } from './plain-request.js';

/** Where the token of a Hub comes from. */
export interface TokenSource {
  /** Throws `secret_unreadable`. */
  readonly read: () => Promise<string>;
  /** Another one than that which was refused; null: there is none. */
  readonly renewed: (refused: string) => Promise<string | null>;
}

export interface HubOptions {
  /** `https://huggingface.co`. */
  readonly endpoint: string;
  readonly token: TokenSource;
  /** For how long nothing may come or go within one request. */
  readonly idleMs: number;
  /** For how long a request is made again whose failure may pass. */
  readonly patienceMs: number;
}

/** A file to be sent. */
export interface HubFile {
  /** In the repository. */
  readonly path: string;
  /** On this disk. */
  readonly from: string;
  readonly sizeBytes: number;
  /** In hex. */
  readonly sha256: string;
}

/** One line of a commit. */
export type CommitLine =
  | {
      readonly key: 'file';
      readonly value: { readonly path: string; readonly content: string; readonly encoding: 'base64' };
    }
  | {
      readonly key: 'lfsFile';
      readonly value: { readonly path: string; readonly algo: 'sha256'; readonly oid: string; readonly size: number };
    }
  | { readonly key: 'deletedFile'; readonly value: { readonly path: string } };

export interface HubCommit {
  /** The commit before it. If there is another one by then, nothing is committed. */
  readonly parent: string;
  readonly summary: string;
  readonly lines: readonly CommitLine[];
}

const BRANCH = 'main';
const FILES_AT_ONCE = 100;
const SAMPLE_BYTES = 512;
const REDIRECTS_MAX = 3;
const JSON_TYPE = { 'content-type': 'application/json' };

const revision = z.object({ sha: z.string().regex(/^[0-9a-f]{40,64}$/) });
const tree = z.array(z.object({ path: z.string() }));
const modes = z.object({
  files: z.array(
    z.object({ path: z.string(), uploadMode: z.enum(['regular', 'lfs']), shouldIgnore: z.boolean().default(false) }),
  ),
});

/**
 * Dataset repositories of a Hugging Face Hub, on their branch `main`. Every method is made again while its failure may pass, and throws
 * `hub_denied`, `hub_unreachable`, `hub_failed`.
 */
export class Hub {
  readonly #options: HubOptions;

  constructor(options: HubOptions) {
    this.#options = options;
  }

  /** The newest commit; null: there is no such repository, or none that the token may see. */
  async head(repository: string): Promise<string | null> {
    const answer = await this.#ask(repository, revisionOf(repository), isMissing);
    return isMissing(answer) ? null : this.#parsed(repository, answer, revision).sha;
  }

  /** Makes a private repository. One that is there by now stays as it is. */
  async create(repository: string): Promise<void> {
    const [organization, name] = repository.split('/');
    const body = { type: 'dataset', name, organization, visibility: 'private' };
    const request = {
      method: 'POST',
      path: '/api/repos/create',
      headers: JSON_TYPE,
      body: JSON.stringify(body),
    } as const;
    await patiently(this.#options.patienceMs, async () => {
      const answer = await this.#withToken(repository, request, isConflict);
      // The Hub also says so where it is at work with another repository of the same owner.
      if (isConflict(answer) && isMissing(await this.#withToken(repository, revisionOf(repository), isMissing)))
        throw hubFailureOf(answer, this.#placeOf(repository));
    });
  }

  /** Names of files and folders in a folder; empty: there is no such folder. */
  async names(repository: string, commit: string, folder: string): Promise<readonly string[]> {
    const path = `/api/datasets/${repository}/tree/${commit}${folder === '' ? '' : `/${folder}`}`;
    const answer = await this.#ask(repository, { path }, isNoEntry);
    if (isNoEntry(answer)) return [];
    return this.#parsed(repository, answer, tree).map((one) => one.path);
  }

  /** The content of a file, of 4 MiB at most; null: there is no such file. */
  async read(repository: string, commit: string, path: string): Promise<string | null> {
    let asked = `/datasets/${repository}/resolve/${commit}/${path}`;
    for (let hop = 0; hop <= REDIRECTS_MAX; hop++) {
      const answer = await this.#ask(repository, { path: asked }, (one) => isNoEntry(one) || isRedirect(one));
      if (isNoEntry(answer)) return null;
      if (!isRedirect(answer)) return answer.bytes.toString('utf8');
      asked = answer.headers.location ?? '';
      // A path there is one of the whole server, and not below the address of the Hub.
      if (asked.startsWith('/')) asked = new URL(asked, this.#options.endpoint).href;
    }
    throw strangeAnswer(this.#placeOf(repository), 'it sends from one address to the next').failure;
  }

  /** Which files the repository keeps as large ones. Throws `hub_failed` for one that its `.gitignore` names. */
  async largeOnes(
    repository: string,
    files: readonly HubFile[],
    sampleOf: (file: HubFile) => Promise<Buffer>,
  ): Promise<ReadonlySet<string>> {
    const large = new Set<string>();
    for (let at = 0; at < files.length; at += FILES_AT_ONCE) {
      const page = files.slice(at, at + FILES_AT_ONCE);
      const asked = await Promise.all(
        page.map(async (file) => ({
          ...{ path: file.path, size: file.sizeBytes },
          sample: (await sampleOf(file)).subarray(0, SAMPLE_BYTES).toString('base64'),
        })),
      );
      const path = `/api/datasets/${repository}/preupload/${BRANCH}`;
      const body = JSON.stringify({ files: asked });
      const answer = await this.#ask(repository, { method: 'POST', path, headers: JSON_TYPE, body });
      const told = new Map(this.#parsed(repository, answer, modes).files.map((one) => [one.path, one]));
      for (const file of page) {
        const one = told.get(file.path);
        const what = this.#placeOf(repository);
        if (one === undefined) throw strangeAnswer(what, `it says nothing of ${file.path}`).failure;
        if (one.shouldIgnore)
          throw new HoldfastError('hub_failed', `The .gitignore of ${what} leaves out ${file.path}.`);
        if (one.uploadMode === 'lfs') large.add(file.path);
      }
    }
    return large;
  }

  /** Sends the content of a large file, unless the Hub has it. It is in no commit by that. */
  async store(repository: string, file: HubFile): Promise<'sent' | 'there'> {
    const what = this.#placeOf(repository);
    const { endpoint, idleMs, patienceMs } = this.#options;
    const path = `/datasets/${repository}.git/info/lfs/objects/batch`;
    let refused = 0;
    return patiently(patienceMs, () =>
      storeLarge(
        {
          ...{ what, branch: BRANCH, endpoint: new URL(endpoint) },
          askHub: (request) => this.#withToken(repository, { method: 'POST', path, ...request }),
          send: (request) => this.#sent(request, what, idleMs),
          // An address is good for some time only, so the next attempt asks for a new one.
          mayRefuse: () => refused++ < 2,
          open: (start, end) => createReadStream(file.from, { start, end }),
        },
        file,
      ),
    );
  }

  /** Gives whether it was made; a lost answer makes this `false`, too. */
  async commit(repository: string, { parent, summary, lines }: HubCommit): Promise<boolean> {
    const header = { key: 'header', value: { summary, description: '', parentCommit: parent } };
    const body = [header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('');
    const answer = await this.#ask(
      repository,
      {
        ...{ method: 'POST', path: `/api/datasets/${repository}/commit/${BRANCH}`, body },
        headers: { 'content-type': 'application/x-ndjson' },
      },
      ({ status }) => status === 412,
    );
    return answer.status !== 412;
  }

  #placeOf(repository: string): string {
    return `hf://datasets/${repository} at ${new URL(this.#options.endpoint).origin}`;
  }

  #parsed<T>(repository: string, answer: StoreAnswer, schema: z.ZodType<T>): T {
    try {
      return parsedAnswer(answer, schema, this.#placeOf(repository));
    } catch (error) {
      throw error instanceof HubFailure ? error.failure : error;
    }
  }

  #ask(
    repository: string,
    request: HubRequest,
    also: (answer: StoreAnswer) => boolean = () => false,
  ): Promise<StoreAnswer> {
    return patiently(this.#options.patienceMs, () => this.#withToken(repository, request, also));
  }

  /** Asks once, and once more where the token was refused and there is another. Throws `HubFailure`. */
  async #withToken(
    repository: string,
    { method = 'GET', path, headers = {}, body }: HubRequest,
    also: (answer: StoreAnswer) => boolean = () => false,
  ): Promise<StoreAnswer> {
    const { endpoint, token, idleMs } = this.#options;
    const what = this.#placeOf(repository);
    const base = new URL(endpoint);
    const url = addressOf(base, path);
    if (url === null) throw strangeAnswer(what, 'it names an address that is none');
    const isOwn = url.origin === base.origin;
    const content =
      body === undefined
        ? null
        : { sizeBytes: Buffer.byteLength(body), open: () => Readable.from([Buffer.from(body)]) };
    const ask = async (key: string): Promise<StoreAnswer> => {
      // Another server than the Hub is shown no token.
      const all = isOwn ? { ...headers, authorization: `Bearer ${key}` } : headers;
      const answer = await this.#sent({ method, url, headers: all, body: content }, what, idleMs);
      if ((answer.status >= 200 && answer.status < 300) || also(answer)) return answer;
      throw hubFailureOf(answer, what);
    };
    const key = await token.read();
    try {
      return await ask(key);
    } catch (error) {
      const isRefused = error instanceof HubFailure && error.isToken && isOwn;
      const other = isRefused ? await token.renewed(key) : null;
      if (other === null) throw error;
      return ask(other);
    }
  }

  async #sent(request: PlainRequest, what: string, idleMs: number): Promise<StoreAnswer> {
    try {
      return await sendPlain(request, idleMs);
    } catch (error) {
      // The file to be sent is the trouble, and not the Hub.
      if (error instanceof Error && 'syscall' in error && error.syscall === 'open') throw error;
      if (error instanceof AnswerTooLarge) throw strangeAnswer(what, error.message);
      throw brokenHub(error, what);
    }
  }
}

/** A request to the Hub itself. */
export interface HubRequest {
  readonly method?: PlainRequest['method'];
  /** A path, or an address. */
  readonly path: string;
  readonly headers?: { readonly [name: string]: string };
  readonly body?: string;
}

/** The Hub may answer 401 where there is no such repository. */
const isMissing = (answer: StoreAnswer): boolean => {
  const code = hubCodeOf(answer);
  return code === 'RepoNotFound' || (answer.status === 404 && code === null);
};
const isNoEntry = (answer: StoreAnswer): boolean => answer.status === 404 && hubCodeOf(answer) === 'EntryNotFound';
const isConflict = ({ status }: StoreAnswer): boolean => status === 409;
const isRedirect = ({ status }: StoreAnswer): boolean => status >= 300 && status < 400;

const revisionOf = (repository: string): HubRequest => ({ path: `/api/datasets/${repository}/revision/${BRANCH}` });

/** A path below the address of the Hub, or an address. Null: it is none that may be asked. */
function addressOf(endpoint: URL, path: string): URL | null {
  const isPath = path.startsWith('/') && !path.startsWith('//');
  return addressIn(isPath ? `${endpoint.origin}${endpoint.pathname.replace(/\/+$/, '')}${path}` : path, endpoint);
}
