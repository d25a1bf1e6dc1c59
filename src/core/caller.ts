import { z } from 'zod';

/** Roles, lowest first; each may do what those before it may. */
export const ROLES = ['viewer', 'operator', 'approver', 'admin'] as const;
export const role = z.enum(ROLES);
export type Role = z.infer<typeof role>;

/** Who calls a verb. At the HTTP door it comes from the token and from nothing else. */
export interface Caller {
  readonly actor: string;
  readonly role: Role;
  readonly tenant: string;
}

export const mayAct = (caller: Caller, needed: Role): boolean => ROLES.indexOf(caller.role) >= ROLES.indexOf(needed);

/** The caller of code in the same process: the library and the command line on the own database. */
export const LOCAL_CALLER: Caller = { actor: 'local', role: 'admin', tenant: 'default' };
