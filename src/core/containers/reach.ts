import type { EnvironmentSpec } from './environment-spec.js';

/** The fields of a spec that let what is in its container reach beyond it, or weaken what keeps it there. As pointers within the spec. */
export function reachOf({ mounts, security }: EnvironmentSpec): readonly string[] {
  const { networkMode, dropCapabilities, noNewPrivileges, seccompProfile } = security;
  const reaching: readonly (readonly [string, boolean])[] = [
    ['/mounts', mounts.length > 0],
    ['/security/networkMode', networkMode === 'open'],
    ['/security/dropCapabilities', !dropCapabilities.includes('ALL')],
    ['/security/noNewPrivileges', !noNewPrivileges],
    ['/security/seccompProfile', seccompProfile !== null],
  ];
  return reaching.flatMap(([pointer, reaches]) => (reaches ? [pointer] : []));
}
