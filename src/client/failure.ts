import type { ErrorCode, FieldError } from '../core/errors/errors.js';
import type { Problem } from '../core/errors/problem.js';

/** An error of the server, with the code that the library throws for the same reason; or `server_unreachable`. */
export class HoldfastError extends Error {
  override readonly name = 'HoldfastError';
  readonly code: ErrorCode;
  /** The way out. */
  readonly hint: string;
  /** The HTTP status that belongs to the code. */
  readonly status: number;
  /** What is wrong where in the request. */
  readonly fields: readonly FieldError[];
  /** The id under which the log of the server has the request. Null where no server answered. */
  readonly requestId: string | null;

  constructor(
    {
      code,
      detail,
      hint,
      status,
      errors,
      requestId,
    }: Pick<Problem, 'detail' | 'hint' | 'status' | 'errors'> & {
      readonly code: ErrorCode;
      readonly requestId: string | null;
    },
    cause?: unknown,
  ) {
    super(detail, cause === undefined ? undefined : { cause });
    this.code = code;
    this.hint = hint;
    this.status = status;
    this.fields = errors;
    this.requestId = requestId;
  }
}

const isProblem = (body: unknown): body is Problem & { code: ErrorCode } =>
  typeof body === 'object' && body !== null && 'code' in body && 'detail' in body && 'hint' in body;

const away = (detail: string, cause?: unknown): HoldfastError =>
  new HoldfastError(
    {
      code: 'server_unreachable',
      detail,
      hint: 'Check the URL and the server, then send the request again; with a key it is done once.',
      status: 503,
      errors: [],
      requestId: null,
    },
    cause,
  );

export const misused = (detail: string, hint: string): HoldfastError =>
  new HoldfastError({ code: 'invalid_request', detail, hint, status: 400, errors: [], requestId: null });

/** The error for a connection that could not be made or broke. */
export function notReached(address: string, cause: unknown): HoldfastError {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const why =
    inner instanceof Error
      ? 'code' in inner && typeof inner.code === 'string'
        ? inner.code
        : inner.message
      : String(inner);
  return away(`No server answers at ${address} (${why}).`, cause);
}

/** The error that an answer is; of a body that Holdfast would not send, that the address is another one. */
export const errorOfAnswer = (address: string, status: number, body: unknown): HoldfastError =>
  isProblem(body)
    ? new HoldfastError({ ...body, errors: body.errors ?? [] })
    : away(`What answers at ${address} is not Holdfast (status ${status}).`);
