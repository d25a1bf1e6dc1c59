import { z } from 'zod';

const QUOTED = /^"(?:[^"\\]|\\["\\])*"$/;
const unquoted = (value: string): string =>
  QUOTED.test(value) ? value.slice(1, -1).replace(/\\(["\\])/g, '$1') : value;

/**
 * The key of the header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header-07): a structured-field string, quotes and
 * all, or bare as most clients send it. Both spellings of a key are the same key.
 */
export const idempotencyKey = z
  .string()
  .transform(unquoted)
  .pipe(z.string().regex(/^[\x21-\x7e]{1,255}$/, 'expected 1 to 255 visible ASCII characters, quoted or bare'))
  .describe('The same key with the same body gives the same run, however often it is sent.');
