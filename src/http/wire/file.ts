import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';

interface SentFile {
  readonly name: string;
  readonly sizeBytes: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** Sends a file as a download, which no browser draws. A client that is gone ends it. */
export async function sendFile(
  response: Response,
  { name, sizeBytes, content }: SentFile,
  signal: AbortSignal,
): Promise<void> {
  response
    .status(200)
    .set('Content-Type', 'application/octet-stream')
    .set('Content-Length', String(sizeBytes))
    .set('Content-Disposition', `attachment; filename*=UTF-8''${encodeURIComponent(name)}`);
  try {
    await pipeline(Readable.from(content), response, { signal });
  } catch (error) {
    // The head is sent: what is wrong can only be told by ending the answer before its length.
    if (!signal.aborted && !response.destroyed) throw error;
  }
}
