import { type Request, type Response, raw } from 'express';
import { HoldfastError } from '../../core/errors/errors.js';
import { invalidRequest } from '../../core/field-errors.js';
import { parseJson } from '../../core/json.js';

/** Nesting that no request needs; deeper input could exhaust the stack of the one that walks through it. */
const DEPTH_LIMIT = 100;

export function assertShallow(root: unknown): void {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEPTH_LIMIT)
      throw invalidRequest([{ pointer: '', detail: `is nested deeper than ${DEPTH_LIMIT} levels` }]);
    level = level.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
  }
}

const isJson = (request: Request): boolean => request.is(['application/json']) !== false;
const hasBody = (request: Request): boolean =>
  request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;

/** Of a body that is encoded. */
export const encodedBody = (): HoldfastError =>
  new HoldfastError('unsupported_media_type', 'The body has a Content-Encoding; expected none.', {
    hint: 'Send it as it is, without `Content-Encoding`.',
  });

const ofReader = (error: unknown, maxBodyBytes: number): unknown => {
  const type = error instanceof Error && 'type' in error ? error.type : undefined;
  if (type === 'entity.too.large') {
    return new HoldfastError('body_too_large', `The body is larger than the ${maxBodyBytes} bytes that are allowed.`);
  }
  if (type === 'encoding.unsupported') {
    return encodedBody();
  }
  if (type === 'request.size.invalid' || type === 'request.aborted') {
    return new HoldfastError('malformed_json', 'The body ended before its Content-Length.');
  }
  return error;
};

interface BodyBounds {
  readonly maxBytes: number;
  /** Ends the wait for the rest of the body, with its reason. */
  readonly signal: AbortSignal;
}

function readBytes(request: Request, response: Response, { maxBytes, signal }: BodyBounds): Promise<unknown> {
  const reader = raw({ limit: maxBytes, inflate: false, type: () => true });
  return new Promise((resolve, reject) => {
    const refuse = (error: unknown): void => {
      // What is still on its way is read and dropped, so that the client gets to read the answer.
      request.resume();
      reject(error);
    };
    const onAbort = (): void => refuse(signal.reason);
    signal.addEventListener('abort', onAbort);
    reader(request, response, (error?: unknown) => {
      signal.removeEventListener('abort', onAbort);
      if (error !== undefined) return refuse(ofReader(error, maxBytes));
      resolve(request.body);
    });
  });
}

export function parseBody(bytes: Uint8Array): unknown {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    const why = cause instanceof SyntaxError ? cause.message : 'it is not UTF-8';
    throw new HoldfastError('malformed_json', `The body cannot be read as JSON: ${why}.`, { cause });
  }
}

/**
 * The body of a request; no body is `{}`. Throws `unsupported_media_type`, `body_too_large`, `malformed_json` and, for
 * nesting beyond all measure, `invalid_request`; the reason of its signal where that fires first.
 */
export async function readBody(request: Request, response: Response, bounds: BodyBounds): Promise<unknown> {
  if (!hasBody(request)) return {};
  if (!isJson(request)) {
    const came = request.headers['content-type'] ?? 'missing';
    throw new HoldfastError('unsupported_media_type', `The Content-Type is ${came}; expected application/json.`);
  }
  const bytes = await readBytes(request, response, bounds);
  if (!(bytes instanceof Uint8Array) || bytes.length === 0) return {};
  const value = parseBody(bytes);
  assertShallow(value);
  return value;
}
