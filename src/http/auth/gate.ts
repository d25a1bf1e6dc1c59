import type { Request } from 'express';
import { mayAct, mayOperate } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { type GuardedRoute, leastRole } from '../route.js';
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
export function assertMay({ caller }: Identity, route: Pick<GuardedRoute, 'access'>): void {
  const role = leastRole(route);
  if (role !== null && !mayAct(caller, role))
    throw new HoldfastError('forbidden', `The token has the role ${caller.role}; this needs ${role}.`);
  const { access } = route;
  if (typeof access === 'string' || 'tenant' in access || mayOperate(caller, access.installation)) return;
  const has = caller.installation === undefined ? 'no role' : `the role ${caller.installation}`;
  throw new HoldfastError(
    'forbidden',
    `This concerns all tenants. The token has ${has} in the installation; this needs ${access.installation}.`,
    { hint: `Use a token whose entry in the list of tokens says "installation": "${access.installation}".` },
  );
}
