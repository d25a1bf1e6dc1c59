import { HoldfastError } from '../core/errors/errors.js';
import type { StoreAnswer } from './plain-request.js';

/** What an answer that is no success means, and whether it may be another one later. */
export interface StoreFailure {
  readonly error: HoldfastError;
  readonly passes: boolean;
  /** The key was refused, as one that is not known any more. */
  readonly isKey: boolean;
}

const KEY_CODES = new Set([
  ...['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'ExpiredToken', 'InvalidToken', 'TokenRefreshRequired'],
  ...['AccessDenied', 'InvalidClientTokenId', 'UnrecognizedClientException', 'Unauthorized'],
]);
const REGION_CODES = new Set(['AuthorizationHeaderMalformed', 'PermanentRedirect', 'TemporaryRedirect']);
const PASSING_CODES = new Set(['ConditionalRequestConflict', 'OperationAborted', 'RequestTimeout', 'SlowDown']);

/** Of what a server says the code alone is repeated: a word of letters. */
export function codeOf({ bytes }: StoreAnswer): string | null {
  return /<Code>([A-Za-z0-9.]{1,64})<\/Code>/.exec(bytes.toString('utf8'))?.[1] ?? null;
}

/** `what` is for messages: `s3://bucket/key at https://endpoint`. */
export function failureOf(answer: StoreAnswer, what: string): StoreFailure {
  const { status } = answer;
  const code = codeOf(answer);
  const said = code === null ? `answered ${status}` : `answered ${status} ${code}`;
  const failure = (kind: HoldfastError['code'], message: string, passes = false): StoreFailure => ({
    ...{ error: new HoldfastError(kind, message), passes },
    isKey: kind === 'object_store_denied' && !REGION_CODES.has(code ?? ''),
  });
  if (code === 'NoSuchBucket') return failure('bucket_unknown', `There is no bucket for ${what}.`);
  if (code === 'RequestTimeTooSkewed')
    return failure('object_store_denied', `The clocks of this machine and of the store of ${what} differ too much.`);
  if (REGION_CODES.has(code ?? '') || (status >= 300 && status < 400))
    return failure('object_store_denied', `The store of ${what} is that of another region or address: it ${said}.`);
  if (KEY_CODES.has(code ?? '') || status === 401 || status === 403)
    return failure('object_store_denied', `The store of ${what} ${said}.`);
  if (status >= 500 && status !== 501 && status !== 507)
    return failure('object_store_unreachable', `The store of ${what} ${said}.`, true);
  if (status === 429 || status === 408 || PASSING_CODES.has(code ?? ''))
    return failure('object_store_unreachable', `The store of ${what} ${said}.`, true);
  return failure('object_store_failed', `The store of ${what} ${said}.`);
}

/** A connection that could not be made, or broke. */
export function brokenConnection(error: unknown, what: string): HoldfastError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const why = code === '' || code === 'ABORT_ERR' ? (error instanceof Error ? error.message : String(error)) : code;
  return new HoldfastError('object_store_unreachable', `The store of ${what} does not answer: ${why.slice(0, 200)}.`, {
    cause: error,
  });
}
