import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { AwsV4Signer } from 'aws4fetch';
import { type Content, type StoreAnswer, sendPlain } from './plain-request.js';

/** One request of S3's protocol: signed (Signature Version 4), sent, and its answer read. Redirects are not followed. */

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
}

/** What is sent: known before, so that the store can refuse whatever else arrives. */
export interface Body extends Content {
  /** In hex. */
  readonly sha256: string;
  /** In base64. Buckets that keep what is written for a time want it. */
  readonly md5: string;
}

export interface StoreRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  readonly url: URL;
  readonly headers: { readonly [name: string]: string };
  readonly body: Body | null;
  /** The answer is no larger, or is refused. Default 4 MiB. */
  readonly answerBytes?: number;
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
  return sendPlain({ ...request, url: signed.url, headers }, signing.idleMs);
}

/** What is sent to a store, with the digests that name it there. */

/** A file, which is read twice and never held in memory. Throws what reading throws. */
export async function fileBody(path: string): Promise<Body> {
  const [sha256, md5] = [createHash('sha256'), createHash('md5')];
  let sizeBytes = 0;
  for await (const piece of createReadStream(path)) {
    const bytes = Buffer.from(piece);
    sha256.update(bytes);
    md5.update(bytes);
    sizeBytes += bytes.byteLength;
  }
  const digests = { sha256: sha256.digest('hex'), md5: md5.digest('base64') };
  return { sizeBytes, ...digests, open: () => createReadStream(path) };
}

export const textBody = (text: string): Body => bytesBody(Buffer.from(text));

export function bytesBody(bytes: Buffer): Body {
  const [sha256, md5] = [createHash('sha256').update(bytes), createHash('md5').update(bytes)];
  const digests = { sha256: sha256.digest('hex'), md5: md5.digest('base64') };
  return { sizeBytes: bytes.byteLength, ...digests, open: () => Readable.from([bytes]) };
}
