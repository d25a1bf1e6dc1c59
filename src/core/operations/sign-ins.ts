import { z } from 'zod';
import { ROLES } from '../caller.js';

export const SIGN_IN_CODES = '/api/v1/sign-ins/codes';

/** How a browser signs in. */
export const signInBody = z
  .strictObject({
    token: z.string().min(1).max(4096).exactOptional().describe('A token of this server.'),
    code: z.string().min(1).max(400).exactOptional().describe('A code that `holdfast console` asked for.'),
  })
  .refine(({ token, code }) => (token === undefined) !== (code === undefined), {
    message: 'expected one of token and code',
  })
  .meta({ id: 'SignIn' });
export type SignInBody = z.infer<typeof signInBody>;

export const signInCode = z
  .object({
    code: z.string().describe('Signs one browser in.'),
    expiresAt: z.iso.datetime().describe('A minute from now.'),
  })
  .meta({ id: 'SignInCode' });
export type SignInCode = z.infer<typeof signInCode>;

export const signInView = z
  .object({
    actor: z.string(),
    role: z.enum(ROLES),
    tenant: z.string(),
    expiresAt: z.iso.datetime().describe('When the sign-in ends if the browser asks nothing before.'),
    time: z.iso.datetime().describe('The clock of the server.'),
    may: z.array(z.string()).describe('Ids of the operations that the role allows.'),
  })
  .meta({ id: 'SignedIn' });

export type SignInView = z.infer<typeof signInView>;
