import type { Readable } from 'node:stream';
import { z } from 'zod';
import { HoldfastError } from '../core/errors/errors.js';
import { addressIn, HubFailure, hubFailureOf, parsedAnswer, strangeAnswer } from './hub-answer.js';
import type { PlainRequest, StoreAnswer } from './plain-request.js';

/**
 * Sends a large file as Git LFS does (https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md), whole or, as the Hub wants it
 * for larger ones, in parts.
 */

const LFS_TYPE = { accept: 'application/vnd.git-lfs+json', 'content-type': 'application/vnd.git-lfs+json' };
const PIECES_AT_MOST = 10_000;
const PART_ATTEMPTS = 3;

const action = z.object({
  href: z.string(),
  header: z.record(z.string(), z.union([z.string(), z.number()])).nullish(),
});
type Action = z.infer<typeof action>;
const batch = z.object({
  objects: z
    .array(
      z.object({
        oid: z.string(),
        actions: z.object({ upload: action.nullish(), verify: action.nullish() }).nullish(),
        error: z.object({ code: z.int() }).nullish(),
      }),
    )
    .max(10),
});

interface LargeFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** In hex. */
  readonly sha256: string;
}

/** What sends to the Hub, and to the servers that it names. All throw `HubFailure`. */
export interface Transfer {
  /** For messages. */
  readonly what: string;
  readonly branch: string;
  /** The address of the Hub. */
  readonly endpoint: URL;
  /** Asks the Hub with its token: the address of the batch, or another one there. */
  readonly askHub: (request: {
    readonly path?: string;
    readonly headers: { readonly [name: string]: string };
    readonly body: string;
  }) => Promise<StoreAnswer>;
  readonly send: (request: PlainRequest) => Promise<StoreAnswer>;
  /** Whether a refusal of the store may be one of an address that was too old. */
  readonly mayRefuse: () => boolean;
  /** Of the file, from a byte to a byte, both included. */
  readonly open: (start: number, end: number) => Readable;
}

/** Throws `HubFailure`. */
export async function storeLarge(by: Transfer, file: LargeFile): Promise<'sent' | 'there'> {
  const { sha256: oid, sizeBytes: size } = file;
  const body = JSON.stringify({
    ...{ operation: 'upload', transfers: ['basic', 'multipart'], hash_algo: 'sha256' },
    ...{ ref: { name: by.branch }, objects: [{ oid, size }] },
  });
  const answer = await by.askHub({ headers: LFS_TYPE, body });
  const object = parsedAnswer(answer, batch, by.what).objects.find((one) => one.oid === oid);
  if (object === undefined) throw strangeAnswer(by.what, `it says nothing of ${file.path}`);
  if (object.error) throw refusedFile(by, file, object.error.code);
  const { upload, verify } = object.actions ?? {};
  if (!upload) return 'there';
  const chunk = upload.header?.['chunk_size'];
  if (chunk === undefined) await sendWhole(by, file, upload);
  else await sendPieces(by, file, upload, Number(chunk));
  if (verify) await askThere(by, verify, JSON.stringify({ oid, size }));
  return 'sent';
}

/** The code of an object is that of an answer. What the Hub writes beside it is not repeated. */
function refusedFile({ what }: Transfer, { path }: LargeFile, code: number): HubFailure {
  const passes = code >= 500 || code === 429;
  const error = passes ? 'hub_unreachable' : code === 401 || code === 403 ? 'hub_denied' : 'hub_failed';
  return new HubFailure(new HoldfastError(error, `The Hub of ${what} does not take ${path}: ${code}.`), { passes });
}

async function sendWhole(by: Transfer, file: LargeFile, { href, header }: Action): Promise<void> {
  const url = urlOf(by, href);
  const { sizeBytes } = file;
  const body = { sizeBytes, open: () => by.open(0, sizeBytes - 1) };
  assertTaken(by, file, await by.send({ method: 'PUT', url, headers: headersOf(header), body }));
}

/** The header has the size of a part under `chunk_size`, and the address of each under its number. */
async function sendPieces(by: Transfer, file: LargeFile, { href, header }: Action, partBytes: number): Promise<void> {
  const addresses = Object.entries(header ?? {})
    .filter(([name]) => /^\d{1,5}$/.test(name))
    .map(([name, url]) => ({ number: Number(name), url: urlOf(by, String(url)) }))
    .toSorted((a, b) => a.number - b.number);
  const isWhole = Number.isInteger(partBytes) && partBytes > 0 && addresses.every((one, at) => one.number === at + 1);
  if (!isWhole || addresses.length !== Math.ceil(file.sizeBytes / partBytes) || addresses.length > PIECES_AT_MOST)
    throw strangeAnswer(by.what, `the parts of ${file.path} do not make ${file.sizeBytes} bytes`);
  const tags: { partNumber: number; etag: string }[] = [];
  for (const { number, url } of addresses) {
    const start = (number - 1) * partBytes;
    const end = Math.min(file.sizeBytes, start + partBytes) - 1;
    tags.push({ partNumber: number, etag: await sendPart(by, file, { url, start, end }) });
  }
  await askThere(by, { href }, `{"oid":"${file.sha256}","parts":${JSON.stringify(tags)}}`);
}

interface Part {
  readonly url: URL;
  readonly start: number;
  readonly end: number;
}

/** Tries a part again before the whole file is sent again. Gives the tag that the store has for it. */
async function sendPart(by: Transfer, file: LargeFile, { url, start, end }: Part): Promise<string> {
  const body = { sizeBytes: end - start + 1, open: () => by.open(start, end) };
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await by.send({ method: 'PUT', url, headers: {}, body });
      assertTaken(by, file, answer);
      const { etag } = answer.headers;
      if (etag) return etag;
      throw strangeAnswer(by.what, `a part of ${file.path} has no ETag`);
    } catch (error) {
      const passes = error instanceof HubFailure && error.passes && error.afterMs === 0;
      if (!passes || attempt === PART_ATTEMPTS) throw error;
    }
  }
}

function assertTaken(by: Transfer, file: LargeFile, answer: StoreAnswer): void {
  const { status } = answer;
  if (status >= 200 && status < 300) return;
  const isRefusal = status >= 400 && status < 500 && status !== 429 && status !== 408;
  if (!isRefusal) throw hubFailureOf(answer, by.what);
  const message = `The store of the Hub of ${by.what} answered ${status} to ${file.path}.`;
  throw new HubFailure(new HoldfastError('hub_failed', message), { passes: by.mayRefuse() });
}

/** Says to the Hub that all is sent: at the address that it named. It alone is shown the token. */
async function askThere(by: Transfer, { href, header }: Action, body: string): Promise<void> {
  const url = urlOf(by, href);
  await by.askHub({ path: url.href, headers: { ...headersOf(header), ...LFS_TYPE }, body });
}

function urlOf({ endpoint, what }: Transfer, href: string): URL {
  const url = addressIn(href, endpoint);
  if (url === null) throw strangeAnswer(what, 'it names an address that is none');
  return url;
}

const OWN_HEADERS = new Set(['host', 'content-length', 'transfer-encoding', 'connection', 'expect', 'upgrade', 'te']);

const headersOf = (header: Action['header']): { readonly [name: string]: string } =>
  Object.fromEntries(
    Object.entries(header ?? {}).flatMap(([name, value]) =>
      /^[A-Za-z][\w-]{0,63}$/.test(name) &&
      !OWN_HEADERS.has(name.toLowerCase()) &&
      /^[\x20-\x7e]{0,4000}$/.test(`${value}`)
        ? [[name.toLowerCase(), `${value}`] as const]
        : [],
    ),
  );
