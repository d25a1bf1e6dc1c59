import { type IncomingHttpHeaders, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { Readable } from 'node:stream';

/** One request over HTTP, whose body is streamed, and its answer. Redirects are not followed. */

/** An answer is held in memory. A page of a list has a thousand names. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** Slower than this, a body is not waited for. */
const BYTES_PER_MS = 16;

/** What is sent. */
export interface Content {
  readonly sizeBytes: number;
  /** A new stream each time. */
  readonly open: () => Readable;
}

export interface PlainRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly headers: { readonly [name: string]: string };
  readonly body: Content | null;
  /** The answer is no larger, or is refused. Default 4 MiB. */
  readonly answerBytes?: number;
}

export interface StoreAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** An answer that is larger than it may be: another attempt gets the same. */
export class AnswerTooLarge extends Error {}

/** Throws what the connection throws, and `AnswerTooLarge`. */
export function sendPlain(
  { method, url, headers: own, body, answerBytes = ANSWER_BYTES_MAX }: PlainRequest,
  idleMs: number,
): Promise<StoreAnswer> {
  const headers = body === null ? own : { ...own, 'content-length': String(body.sizeBytes) };
  return new Promise((resolve, reject) => {
    const open = url.protocol === 'https:' ? tlsRequest : plainRequest;
    const more = Math.max(0, answerBytes - ANSWER_BYTES_MAX);
    const allMs = 2 * idleMs + ((body?.sizeBytes ?? 0) + more) / BYTES_PER_MS;
    const options = { method, headers, timeout: idleMs, signal: AbortSignal.timeout(Math.ceil(allMs)) };
    const sent = open(url, options, (answer) => {
      readAnswer(answer, answerBytes).then(resolve, reject);
    });
    sent.on('timeout', () => sent.destroy(new Error(`nothing came for ${idleMs} ms`)));
    if (body === null) {
      sent.on('error', reject).end();
      return;
    }
    const content = body.open();
    // The store may answer, and hang up, before it has everything.
    sent.on('close', () => content.destroy());
    sent.on('error', reject);
    content.on('error', (error) => {
      sent.destroy();
      reject(error);
    });
    content.pipe(sent);
  });
}

async function readAnswer(answer: IncomingMessage, most: number): Promise<StoreAnswer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of answer) {
    const part = Buffer.from(piece);
    bytes += part.byteLength;
    if (bytes > most) throw new AnswerTooLarge(`the answer is larger than ${most} bytes`);
    pieces.push(part);
  }
  return { status: answer.statusCode ?? 0, headers: answer.headers, bytes: Buffer.concat(pieces) };
}
