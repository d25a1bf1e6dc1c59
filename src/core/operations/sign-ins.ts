import { z } from 'zod';
import { ROLES } from '../caller.js';

/** How a browser signs in. */
export const signInBody = z
  .strictObject({ token: z.string().min(1).max(4096).describe('A token of this server.') })
  .meta({ id: 'SignIn' });

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
