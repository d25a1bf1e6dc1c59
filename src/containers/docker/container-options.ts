import type { ContainerCreateOptions } from 'dockerode';
import { type EnvironmentIdentity, type EnvironmentName, environmentName } from '../../core/containers/environment.js';
import { EGRESS_DIR, type EnvironmentSpec, RECORDS_DIR, SECRETS_DIR } from '../../core/containers/environment-spec.js';
import { guardedVariables } from '../../core/containers/guarded-variables.js';
import type { Shared } from '../egress/egress.js';
import { egressVariables } from '../egress/forward-egress.js';
import { mainUserOf } from '../exec/judge-users.js';
import { securityOf } from '../lifecycle/filter.js';

const MEBIBYTE = 1024 * 1024;
const CPU_PERIOD_US = 100_000;
/** What is in memory counts towards it: less than all of it, so that a full file system is one, and not the end of what runs. */
const inMemory = (most: number, { memoryMb }: EnvironmentSpec['limits'], share: number): number =>
  memoryMb === null ? most : Math.min(most, Math.floor(memoryMb * MEBIBYTE * share));
const tmpOptions = ({ limits }: EnvironmentSpec): string =>
  `rw,nosuid,nodev,size=${inMemory(256 * MEBIBYTE, limits, 1 / 2)},mode=1777`;
/** Where the engine cannot give it to the user, it is as /tmp is: no one else is in there, and the files in it are the user's own. */
const secretOptions = ({ user }: EnvironmentSpec, isOwn: boolean): string => {
  const [uid = '', gid = uid] = user.split(':');
  return `rw,nosuid,nodev,noexec,size=4194304,${isOwn ? `mode=0700,uid=${uid},gid=${gid}` : 'mode=1777'}`;
};
/** What a main process writes is no one's result: the outcome of a command is in files. */
const LOG = { Type: 'json-file', Config: { 'max-size': '1m', 'max-file': '1' } };

/** Nothing but a wait; a signal ends it. A shell that waits for a child is ended at once, one in the foreground after it. */
const WAITING = ['sh', '-c', 'trap "exit 0" TERM INT; while :; do sleep 3600 & wait "$!"; done'];

export const LABELS = {
  managed: 'holdfast.managed',
  instance: 'holdfast.instance',
  run: 'holdfast.run',
  purpose: 'holdfast.purpose',
  attempt: 'holdfast.attempt',
  spec: 'holdfast.spec',
  deadline: 'holdfast.deadline',
} as const;

export const labelsOf = (identity: EnvironmentIdentity): Record<string, string> => ({
  [LABELS.managed]: '1',
  [LABELS.instance]: identity.instance,
  [LABELS.run]: identity.runId,
  [LABELS.purpose]: identity.purpose,
  [LABELS.attempt]: String(identity.attempt),
  [LABELS.spec]: identity.specHash,
  [LABELS.deadline]: identity.deadline,
});

/** The volumes of an environment: what commands work on, and what is recorded of them. */
export const volumesOf = (name: string) => ({ work: `${name}-work`, records: `${name}-records` });

/** Where the root of a copy is, when that of its source could be written to. */
export const rootImageOf = (name: EnvironmentName): string => `${environmentName(name)}:root`;

/** What its root is made of. */
export const imageOf = (identity: EnvironmentIdentity): string =>
  identity.source === null || identity.spec.security.readOnlyRoot ? identity.spec.image : rootImageOf(identity);

export interface ContainerContext {
  /** With the bound of its root, which few engines can enforce. */
  readonly boundDisk: boolean;
  /** The filter of system calls, as the engine takes one; null: its own. */
  readonly filter: string | null;
  /** With a directory of secrets that is the user's own. */
  readonly ownSecrets: boolean;
  /** What it reaches the proxy by; null: nothing. */
  readonly egress: Shared | null;
  /** The variables of its image, which are asked for where a run is judged. */
  readonly variables: Readonly<Record<string, string>>;
}

/** A container as the engine is asked for it. */
export function containerOptions(identity: EnvironmentIdentity, context: ContainerContext): ContainerCreateOptions {
  const { spec } = identity;
  const name = environmentName(identity);
  const asked = { HOME: spec.workdir, ...(context.egress && egressVariables()), ...spec.env };
  const given = { ...context.variables, ...asked };
  const isJudged = identity.purpose === 'verification';
  const env = isJudged ? { ...asked, ...guardedVariables(given, spec) } : asked;
  // What judges ends the processes of the agent's user again and again: it starts that one itself.
  const command = (isJudged ? null : spec.command) ?? WAITING;
  return {
    name,
    Image: imageOf(identity),
    // The image's own entry point would stand before the command.
    Entrypoint: [],
    Cmd: [...command],
    Env: Object.entries(env).map(([key, value]) => `${key}=${value}`),
    // What commands run cannot end it: they are another user's.
    User: mainUserOf(identity),
    WorkingDir: spec.workdir,
    Labels: { ...spec.labels, ...labelsOf(identity) },
    StopTimeout: 2,
    HostConfig: hostConfig(spec, name, context),
  };
}

function hostConfig(
  spec: EnvironmentSpec,
  name: string,
  { boundDisk, filter, ownSecrets, egress }: ContainerContext,
): NonNullable<ContainerCreateOptions['HostConfig']> {
  const { limits, security } = spec;
  const volumes = volumesOf(name);
  return {
    NetworkMode: security.networkMode === 'none' ? 'none' : 'bridge',
    // In place of the capabilities, privileged mode and namespaces of the host: a spec can name none of them.
    CapDrop: [...security.dropCapabilities],
    SecurityOpt: [...(security.noNewPrivileges ? ['no-new-privileges'] : []), ...securityOf(filter)],
    ReadonlyRootfs: security.readOnlyRoot,
    Tmpfs: {
      '/tmp': tmpOptions(spec),
      ...(spec.secrets.length === 0 ? {} : { [SECRETS_DIR]: secretOptions(spec, ownSecrets) }),
    },
    ShmSize: inMemory(64 * MEBIBYTE, limits, 1 / 8),
    Init: true,
    RestartPolicy: { Name: 'no' },
    LogConfig: LOG,
    Mounts: [
      { Type: 'volume', Source: volumes.work, Target: spec.workdir },
      {
        Type: 'volume',
        Source: volumes.records,
        Target: RECORDS_DIR,
        VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: 'local', Options: {} } },
      },
      ...(egress === null ? [] : [{ Type: 'bind' as const, Source: egress.dir, Target: EGRESS_DIR, ReadOnly: true }]),
      ...spec.mounts.map(({ source, target, readOnly }) => ({
        ...{ Type: 'bind' as const, Source: source, Target: target, ReadOnly: readOnly },
      })),
    ],
    ...(limits.memoryMb === null ? {} : { Memory: limits.memoryMb * MEBIBYTE, MemorySwap: limits.memoryMb * MEBIBYTE }),
    ...(limits.cpuCores === null
      ? {}
      : { CpuPeriod: CPU_PERIOD_US, CpuQuota: Math.round(limits.cpuCores * CPU_PERIOD_US) }),
    ...(limits.maxProcesses === null ? {} : { PidsLimit: limits.maxProcesses }),
    ...(limits.diskGb === null || !boundDisk ? {} : { StorageOpt: { size: `${limits.diskGb}G` } }),
  };
}
