import { type ErrorCode, HoldfastError } from '../errors/errors.js';

/** The refusal of a patch: what no patch changes, and where this one would. */
export const refused = (code: ErrorCode, pointer: string, what: string): HoldfastError => {
  const detail = `no patch changes ${what}`;
  return new HoldfastError(code, `The patch is refused at ${pointer}: ${detail}.`, {
    fields: [{ pointer: '/patch', detail: `${pointer}: ${detail}` }],
  });
};
