import type { z } from 'zod';
import { HoldfastError } from '../core/errors.js';

/** A request that does not have its shape, with a JSON pointer to every wrong field. */
export function invalidRequest(error: z.ZodError): HoldfastError {
  const fields = error.issues.map((issue) => ({
    pointer: issue.path.map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
    detail: issue.message,
  }));
  const [first] = fields;
  const where = first === undefined || first.pointer === '' ? 'The request' : first.pointer;
  return new HoldfastError('invalid_request', `${where}: ${first?.detail ?? 'not valid'}`, { fields });
}
