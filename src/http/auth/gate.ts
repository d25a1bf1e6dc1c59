import type { Request } from 'express';
import { mayAct, mayOperate } from '../../core/caller.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { type GuardedRoute, leastRole } from '../route.js';
import { assertNoForeignPage } from './same-site.js';
import type { SignIns } from './sign-ins.js';
import { bearerOf, type Identity, type TokenList } from './tokens.js';

/** Who may ask: the tokens of a server, and the sign-ins of browsers. */
export interface Callers {
  readonly tokens: TokenList;
  readonly signIns: SignIns;
  /** Whether only this machine reaches the server: then no other site's page may ask it anything. */
  readonly onLoopback: boolean;
}

/** Who asks, by a token or by the cookie of a sign-in. Throws `unauthenticated`, `cross_site` and `rate_limited`. */
export function identify(request: Request, { tokens, signIns, onLoopback }: Callers): Identity {
  const { authorization } = request.headers;
  if (onLoopback) assertNoForeignPage(request);
  if (authorization === undefined) {
    const signedIn = signIns.of(request);
    if (signedIn !== null) return signedIn.identity;
  }
  const presented = bearerOf(authorization);
  if (presented === null) {
    throw new HoldfastError('unauthenticated', 'The request has no header Authorization with a bearer token.');
  }
  const identity = tokens.check(presented);
  if (identity === null) throw new HoldfastError('unauthenticated', 'The token is not one of this server.');
  return identity;
}

/** Throws `forbidden`. */
export function assertMay(identity: Identity, route: Pick<GuardedRoute, 'access'>): void {
  const error = whyNot(identity, route);
  if (error !== null) throw error;
}

/** Says why a token may not ask for a route; null: it may. */
export function whyNot({ caller }: Identity, route: Pick<GuardedRoute, 'access'>): HoldfastError | null {
  const role = leastRole(route);
  if (role !== null && !mayAct(caller, role))
    return new HoldfastError('forbidden', `The token has the role ${caller.role}; this needs ${role}.`);
  const { access } = route;
  if (typeof access === 'string' || 'tenant' in access || mayOperate(caller, access.installation)) return null;
  const has = caller.installation === undefined ? 'no role' : `the role ${caller.installation}`;
  return new HoldfastError(
    'forbidden',
    `This concerns all tenants. The token has ${has} in the installation; this needs ${access.installation}.`,
    { hint: `Use a token whose entry in the list of tokens says "installation": "${access.installation}".` },
  );
}
