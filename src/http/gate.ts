import type { Request } from 'express';
import { mayAct, type Role } from '../core/caller.js';
import { HoldfastError } from '../core/errors.js';
import { bearerOf, type Identity } from './tokens.js';

export type TokenCheck = (presented: string) => Identity | null;

/** Who asks. Throws `unauthenticated`. */
export function identify(request: Request, check: TokenCheck): Identity {
  const presented = bearerOf(request.headers.authorization);
  if (presented === null) {
    throw new HoldfastError('unauthenticated', 'The request has no header Authorization with a bearer token.');
  }
  const identity = check(presented);
  if (identity === null) throw new HoldfastError('unauthenticated', 'The token is not one of this server.');
  return identity;
}

/** Throws `forbidden`. */
export function assertRole({ caller }: Identity, needed: Role): void {
  if (mayAct(caller, needed)) return;
  throw new HoldfastError('forbidden', `The token has the role ${caller.role}; this needs ${needed}.`);
}
