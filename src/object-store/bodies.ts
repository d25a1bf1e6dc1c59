import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import type { Body } from './signed-request.js';

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
