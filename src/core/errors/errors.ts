import { ERRORS } from './error-table.js';

export { ERRORS };

export type ErrorCode = keyof typeof ERRORS;

/** What is kept of an error on a run, in an event and in an answer. */
export interface ErrorView {
  readonly code: ErrorCode;
  readonly message: string;
  readonly hint: string;
}

/** A place in an input that is wrong, as an RFC 6901 pointer. */
export interface FieldError {
  readonly pointer: string;
  readonly detail: string;
}

const MESSAGE_LONGEST = 16_384;
const FIELDS_MOST = 200;
const POINTER_LONGEST = 500;
const DETAIL_LONGEST = 2000;

const cut = (text: string, longest: number): string =>
  text.length <= longest ? text : `${text.slice(0, longest).toWellFormed()}… (${text.length} characters)`;

/** What is told of many wrong fields: an answer is no longer because its request was wrong in more places. */
function boundedFields(fields: readonly FieldError[]): readonly FieldError[] {
  const told = fields.slice(0, FIELDS_MOST).map(({ pointer, detail }) => ({
    pointer: cut(pointer, POINTER_LONGEST),
    detail: cut(detail, DETAIL_LONGEST),
  }));
  const more = fields.length - told.length;
  return more === 0 ? told : [...told, { pointer: '', detail: `and ${more} more are wrong` }];
}

export class HoldfastError extends Error {
  readonly code: ErrorCode;
  readonly fields: readonly FieldError[];

  /** `message` says what, where and what was expected; the way out comes from the table unless `hint` is given. */
  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly cause?: unknown; readonly fields?: readonly FieldError[]; readonly hint?: string } = {},
  ) {
    super(cut(message, MESSAGE_LONGEST), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'HoldfastError';
    this.code = code;
    this.fields = boundedFields(options.fields ?? []);
    this.hint = options.hint ?? ERRORS[code].hint;
  }

  readonly hint: string;

  get status(): number {
    return ERRORS[this.code].status;
  }

  view(): ErrorView {
    return { code: this.code, message: this.message, hint: this.hint };
  }
}

/** Codes with a status of 500 that name one run, interruption or definition, and not the server. */
const OF_ONE: readonly ErrorCode[] = ['row_changed', 'state_unreadable', 'replay_diverged'];

/** Whether an error is about one of several things that a request names. The request does the others. */
export const isOfOne = (error: unknown): error is HoldfastError =>
  error instanceof HoldfastError && (error.status < 500 || OF_ONE.includes(error.code));

export const isErrorCode = (code: string): code is ErrorCode => Object.hasOwn(ERRORS, code);

/** Why the system refused something, as its code, such as `ENOENT`; of an error without a code, its text. */
export const codeOrText = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error);
