import { PassThrough } from 'node:stream';
import type { Request, Response } from 'express';
import { HoldfastError } from '../../core/errors/errors.js';
import type { BatchLine } from '../../core/tasks/batch.js';
import { withoutSecrets } from '../../models/secrets/known-secrets.js';
import { breathe } from '../../storage/database/timing.js';
import { assertShallow, encodedBody, parseBody } from './body.js';
import { ownTime } from './body-time.js';

/** JSON values, each in a line of its own: https://github.com/ndjson/ndjson-spec. */
export const LINES_TYPE = 'application/x-ndjson';
const TAKEN = [LINES_TYPE, 'application/jsonl', 'application/ndjson'];

/** So much of a body is taken in while what came before is at work. */
const AHEAD_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;
const EMPTY_AT_ONCE = 1000;

/** Those of a body that has none. */
export const NO_LINES: AsyncIterable<BatchLine> = {
  [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }),
};

interface LineBounds {
  readonly maxLineBytes: number;
  /** How long a line is waited for. The body may take as long as the work on its lines. */
  readonly lineMs: number;
  /** When it fires, no further line is given; its reason is thrown. */
  readonly signal: AbortSignal;
}

/**
 * The lines of a body with their numbers, without those that are empty. One that is no JSON, or longer than `maxLineBytes`, is an error
 * in its place. Throws `unsupported_media_type` at once.
 */
export function readLines(request: Request, bounds: LineBounds): AsyncIterable<BatchLine> {
  if (request.is(TAKEN) === false) {
    const came = request.headers['content-type'] ?? 'missing';
    throw new HoldfastError('unsupported_media_type', `The Content-Type is ${came}; expected ${LINES_TYPE}.`, {
      hint: `Send one JSON object a line, and \`Content-Type: ${LINES_TYPE}\`.`,
    });
  }
  if (request.headers['content-encoding'] !== undefined) throw encodedBody();
  return linesOf(request, bounds);
}

async function* linesOf(request: Request, { maxLineBytes, lineMs, signal }: LineBounds): AsyncGenerator<BatchLine> {
  const limitAgain = ownTime(request);
  const ahead = new PassThrough({ highWaterMark: AHEAD_BYTES });
  request.once('error', (error) => ahead.destroy(error));
  request.once('aborted', () => ahead.destroy(brokenOff('it was closed')));
  const onAbort = (): void => void ahead.destroy(signal.reason);
  signal.addEventListener('abort', onAbort);
  request.pipe(ahead);
  let line = 0;
  let parts: Buffer[] = [];
  let length = 0;
  let leftMs = lineMs;
  const end = (): BatchLine | null => {
    line += 1;
    leftMs = lineMs;
    if (length === 0) return null;
    const bytes = length > maxLineBytes ? null : Buffer.concat(parts);
    [parts, length] = [[], 0];
    return bytes === null ? { line, error: tooLong(maxLineBytes) } : parsed(line, bytes);
  };
  try {
    const chunks: AsyncIterator<Buffer> = ahead[Symbol.asyncIterator]();
    for (;;) {
      const askedAt = performance.now();
      const late = setTimeout(() => ahead.destroy(brokenOff(`no line came for ${lineMs} ms`)), leftMs);
      const { value: chunk, done } = await chunks.next().finally(() => clearTimeout(late));
      if (done) break;
      leftMs -= performance.now() - askedAt;
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
        if (at > from) take(chunk.subarray(from, at));
        from = at + 1;
        // More lines than one come in a piece, and each may wait for the work on the one before.
        signal.throwIfAborted();
        const one = end();
        if (one !== null) yield one;
        // Lines that are refused wait for nothing, and many come in one piece.
        if (one !== null || line % EMPTY_AT_ONCE === 0) await breathe(signal);
      }
      take(chunk.subarray(from));
      await breathe(signal);
    }
    signal.throwIfAborted();
    const last = length > 0 ? end() : null;
    if (last !== null) yield last;
  } finally {
    signal.removeEventListener('abort', onAbort);
    // What is still on its way is read and dropped, so that the client gets to read the answer.
    request.unpipe(ahead).resume();
    limitAgain();
  }

  /** Of a line that is too long nothing is kept but how long it is. */
  function take(bytes: Buffer): void {
    length += bytes.length;
    if (length <= maxLineBytes) parts.push(bytes);
    else parts = [];
  }
}

function parsed(line: number, bytes: Buffer): BatchLine | null {
  if (bytes.toString('latin1').trim() === '') return null;
  try {
    const value = parseBody(bytes);
    assertShallow(value);
    return { line, value };
  } catch (error) {
    if (error instanceof HoldfastError) return { line, error };
    throw error;
  }
}

const brokenOff = (why: string): HoldfastError =>
  new HoldfastError('malformed_json', `The body was broken off: ${why}.`);

const tooLong = (maxLineBytes: number): HoldfastError =>
  new HoldfastError('body_too_large', `The line is longer than the ${maxLineBytes} bytes that are allowed.`);

/**
 * Writes values as they come. A client that sends first and reads then must not wait for itself: what it does not read is kept, which is
 * little for each line of its own. Ends without the last line where the source fails.
 */
export async function sendLines(response: Response, lines: AsyncIterable<unknown>, signal: AbortSignal): Promise<void> {
  response.writeHead(200, { 'Content-Type': LINES_TYPE, 'X-Accel-Buffering': 'no' });
  response.flushHeaders();
  for await (const line of lines) {
    if (signal.aborted) return void response.destroy();
    response.write(`${JSON.stringify(withoutSecrets(line))}\n`);
  }
  response.end();
}
