import { type IncomingHttpHeaders, type IncomingMessage, request as plainRequest } from 'node:http';
import { request as tlsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import { AwsV4Signer } from 'aws4fetch';

/** One request of S3's protocol: signed (Signature Version 4), sent, and its answer read. Redirects are not followed. */

/** An answer is held in memory. A page of a list has a thousand names. */
const ANSWER_BYTES_MAX = 4 * 1024 * 1024;
/** Slower than this, a body is not waited for. */
const BYTES_PER_MS = 16;

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
}

/** What is sent: known before, so that the store can refuse whatever else arrives. */
export interface Body {
  readonly sizeBytes: number;
  /** In hex. */
  readonly sha256: string;
  /** In base64. Buckets that keep what is written for a time want it. */
  readonly md5: string;
  /** A new stream each time. */
  readonly open: () => Readable;
}

export interface StoreRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly headers: { readonly [name: string]: string };
  readonly body: Body | null;
  /** The answer is no larger, or is refused. Default 4 MiB. */
  readonly answerBytes?: number;
}

export interface StoreAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

export interface Signing {
  readonly credentials: Credentials;
  readonly region: string;
  /** For how long nothing may come or go. */
  readonly idleMs: number;
}

const NOTHING = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

/** Throws what the connection throws. */
export async function sendSigned(request: StoreRequest, signing: Signing): Promise<StoreAnswer> {
  const { method, url, body } = request;
  const { accessKeyId, secretAccessKey, sessionToken } = signing.credentials;
  const own = { ...request.headers, 'x-amz-content-sha256': body?.sha256 ?? NOTHING };
  const signer = new AwsV4Signer({
    ...{ method, url: url.href, service: 's3', region: signing.region, accessKeyId, secretAccessKey },
    ...(sessionToken === null ? {} : { sessionToken }),
    headers: body === null ? own : { ...own, 'content-md5': body.md5 },
  });
  const signed = await signer.sign();
  const headers = Object.fromEntries(signed.headers);
  const length = body === null ? {} : { 'content-length': String(body.sizeBytes) };
  return send({ ...request, url: signed.url, headers: { ...headers, ...length } }, signing.idleMs);
}

function send(
  { method, url, headers, body, answerBytes = ANSWER_BYTES_MAX }: StoreRequest,
  idleMs: number,
): Promise<StoreAnswer> {
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
    if (bytes > most) throw new Error(`the answer is larger than ${most} bytes`);
    pieces.push(part);
  }
  return { status: answer.statusCode ?? 0, headers: answer.headers, bytes: Buffer.concat(pieces) };
}
