import { z } from 'zod';
import { HoldfastError } from '../../core/errors/errors.js';
import { jsonObject, jsonValue } from '../../core/json.js';

/**
 * The format of a cassette (docs/models/cassettes.md): the traffic of one model as lines of JSON, first what was recorded, then each
 * request with its answer. It is only ever added to; a file of another version is refused.
 */

export const CASSETTE_VERSION = 1;

export const cassetteHead = z.strictObject({
  format: z.literal('holdfast-cassette'),
  version: z.literal(CASSETTE_VERSION),
  /** Which API the traffic is of: docs/models/cassettes.md has the path of each. */
  api: z.enum(['ollama', 'chat', 'responses', 'anthropic', 'google']),
  model: z.string().min(1),
  /** What the provider was set to, where that shapes its requests. */
  settings: jsonObject,
});
export type CassetteHead = z.infer<typeof cassetteHead>;

/** A piece of a body as it came: its text, or its base64 where it is not whole UTF-8. */
const piece = z.union([z.string(), z.strictObject({ base64: z.base64() })]);
export type CassettePiece = z.infer<typeof piece>;

export const cassetteExchange = z.strictObject({
  request: z.strictObject({ method: z.string(), path: z.string(), body: jsonValue }),
  answer: z.strictObject({
    status: z.int().min(200).max(599),
    headers: z.record(z.string(), z.string()),
    pieces: z.array(piece),
    /** The connection was lost after the last piece. */
    cut: z.boolean(),
  }),
});
export type CassetteExchange = z.infer<typeof cassetteExchange>;

export interface Cassette {
  /** For messages. */
  readonly name: string;
  readonly head: CassetteHead;
  readonly exchanges: readonly CassetteExchange[];
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function toPiece(bytes: Uint8Array): CassettePiece {
  try {
    return UTF8.decode(bytes);
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') };
  }
}

export const bytesOf = (one: CassettePiece): Uint8Array =>
  typeof one === 'string' ? Buffer.from(one, 'utf8') : Buffer.from(one.base64, 'base64');

export const badCassette = (message: string, cause?: unknown): HoldfastError =>
  new HoldfastError('cassette_invalid', message, cause === undefined ? {} : { cause });
