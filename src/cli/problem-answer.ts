import { z } from 'zod';
import { HoldfastError, isErrorCode } from '../core/errors/errors.js';
import { shownAddress, withoutLooks } from '../core/secrets/secret-looks.js';

const problem = z.object({
  code: z.string(),
  detail: z.string(),
  hint: z.string(),
  errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).default([]),
});

/** The error that a server answered with. */
export function errorOfAnswer(url: string, status: number, body: unknown): HoldfastError {
  const parsed = problem.safeParse(body);
  if (!parsed.success || !isErrorCode(parsed.data.code)) return notHoldfast(url, `status ${status}`);
  const { code, detail, hint, errors } = parsed.data;
  const others = errors.slice(1).map((field) => `${field.pointer}: ${field.detail}`);
  return new HoldfastError(code, [detail, ...others].join('; '), { hint: hintOf(code, hint), fields: errors });
}

/** What the HTTP hint says for a client in general, said for this one. */
const hintOf = (code: string, hint: string): string =>
  code === 'unauthenticated' ? 'Set HOLDFAST_TOKEN, or HOLDFAST_DATA_DIR to the data directory of that server.' : hint;

export const notHoldfast = (url: string, what: string): HoldfastError =>
  new HoldfastError(
    'server_unreachable',
    `What answers at ${shownAddress(url)} is not Holdfast, or of another version (${what}).`,
  );

export function unreachable(url: string, cause: unknown): HoldfastError {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const why = inner instanceof Error ? ('code' in inner ? String(inner.code) : inner.message) : String(inner);
  return new HoldfastError('server_unreachable', `No server answers at ${shownAddress(url)} (${withoutLooks(why)}).`, {
    cause,
  });
}
