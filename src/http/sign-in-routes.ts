import { z } from 'zod';
import { HoldfastError } from '../core/errors/errors.js';
import { NO_INPUT, type Operation } from '../core/operations/operation.js';
import { SIGN_IN_CODES, type SignInView, signInBody, signInCode, signInView } from '../core/operations/sign-ins.js';
import { OPERATIONS } from '../core/operations/table.js';
import { whyNot } from './auth/gate.js';
import type { SignedIn } from './auth/sign-ins.js';
import { parseInput } from './input.js';
import { json, type OpenContext, type OpenRoute } from './route.js';

const viewOf = ({ identity, expiresAt }: SignedIn): SignInView => {
  const { actor, role, tenant } = identity.caller;
  const may = Object.entries<Operation>(OPERATIONS)
    .filter(([, { access }]) => whyNot(identity, { access }) === null)
    .map(([name]) => name);
  const [until, time] = [expiresAt, Date.now()].map((at) => new Date(at).toISOString());
  return { actor, role, tenant, expiresAt: until ?? '', time: time ?? '', may };
};

/** Throws `unauthenticated`. */
function current({ signIns, request }: OpenContext): SignedIn {
  const found = signIns.of(request);
  if (found === null) throw new HoldfastError('unauthenticated', 'There is no sign-in in this browser.');
  return found;
}

const withCookie = (made: SignedIn & { readonly cookie: string }) => ({ ...json(viewOf(made)), cookie: made.cookie });

const CURRENT = { ...NO_INPUT, path: '/api/v1/sign-ins/current', access: 'open' } as const;

/** How a browser signs in. These set and read cookies, which nothing else does. */
export const SIGN_IN_ROUTES: readonly OpenRoute[] = [
  {
    ...NO_INPUT,
    method: 'POST',
    path: '/api/v1/sign-ins',
    operationId: 'signIn',
    summary: 'Sign in in a browser, by a token or a code: the answer sets a cookie that stands for the token.',
    access: 'open',
    body: signInBody,
    response: signInView,
    errors: ['unauthenticated', 'invalid_request', 'cross_site', 'tls_required', 'rate_limited'],
    call: async (context) => {
      const proof = parseInput(signInBody, await context.body(), '');
      return withCookie(context.signIns.begin(context.request, proof));
    },
  },
  {
    ...NO_INPUT,
    method: 'POST',
    path: SIGN_IN_CODES,
    operationId: 'createSignInCode',
    summary: 'Get a code that signs one browser in, once and within a minute, as the bearer token of this request.',
    access: 'open',
    response: signInCode,
    errors: ['unauthenticated', 'rate_limited'],
    call: async ({ signIns, request }) => {
      const { code, expiresAt } = signIns.code(request);
      return json({ code, expiresAt: new Date(expiresAt).toISOString() });
    },
  },
  {
    ...CURRENT,
    method: 'GET',
    operationId: 'getSignIn',
    summary: 'Read who signed in in this browser. This renews the sign-in.',
    response: signInView,
    errors: ['unauthenticated', 'cross_site', 'rate_limited'],
    call: async (context) => withCookie(context.signIns.renewed(context.request, current(context))),
  },
  {
    ...CURRENT,
    method: 'DELETE',
    operationId: 'signOut',
    summary: 'Sign out in this browser.',
    response: z.object({ signedOut: z.literal(true) }),
    errors: ['unauthenticated', 'cross_site', 'rate_limited'],
    call: async (context) => {
      const cookie = context.signIns.end(context.request, current(context));
      return { ...json({ signedOut: true }), cookie };
    },
  },
];
