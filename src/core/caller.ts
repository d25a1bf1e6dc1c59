import { z } from 'zod';

/** Roles, lowest first; each may do what those before it may. */
export const ROLES = ['viewer', 'operator', 'approver', 'admin'] as const;
export const role = z.enum(ROLES);
export type Role = z.infer<typeof role>;

/**
 * What someone may do with what serves all tenants, beside the role in the own one: `viewer` reads its numbers, workers and events,
 * `operator` also stops workers and has it do its chores.
 */
export const INSTALLATION_ROLES = ['viewer', 'operator'] as const;
export const installationRole = z.enum(INSTALLATION_ROLES);
export type InstallationRole = z.infer<typeof installationRole>;

/** Who calls a verb. At the HTTP door it comes from the token and from nothing else. */
export interface Caller {
  readonly actor: string;
  readonly role: Role;
  readonly tenant: string;
  /** Absent: no part in the installation, whatever the role in the tenant. */
  readonly installation?: InstallationRole;
}

export const mayAct = (caller: Caller, needed: Role): boolean => ROLES.indexOf(caller.role) >= ROLES.indexOf(needed);

export const mayOperate = ({ installation }: Pick<Caller, 'installation'>, needed: InstallationRole): boolean =>
  installation !== undefined && INSTALLATION_ROLES.indexOf(installation) >= INSTALLATION_ROLES.indexOf(needed);

/** The caller of code in the same process: the library and the command line on the own database. */
export const LOCAL_CALLER: Caller = { actor: 'local', role: 'admin', tenant: 'default', installation: 'operator' };
