import { z } from 'zod';
import { EGRESS_RULE, type EnvironmentSpec, hostPath, isKeptFromContainers, meet } from './environment-spec.js';

/** What a container may take and reach that an operator asks for. An admin may go beyond it. */
export const ceilings = z.strictObject({
  memoryMb: z.int().min(16).nullable().default(4096),
  cpuCores: z.number().min(0.01).nullable().default(4),
  maxProcesses: z.int().min(16).nullable().default(1024),
  /** Few engines enforce `diskGb`, so that a ceiling here is for those that do. */
  diskGb: z.int().min(1).nullable().default(null),
  /** Copies of the files that are kept of a run, and the hours after its end. */
  snapshots: z.int().min(0).nullable().default(5),
  snapshotHours: z.int().min(0).nullable().default(168),
  /** Rules that may be asked for, and what is narrower than one of them. */
  allowedEgress: z.array(z.string().max(260).regex(EGRESS_RULE)).max(1000).default([]),
  bestEffort: z.boolean().default(false),
  writableRoot: z.boolean().default(false),
});
export type CeilingsConfig = z.input<typeof ceilings>;
export type Ceilings = z.output<typeof ceilings>;

/** Null has no limit. */
const exceeds = (asked: number | null, ceiling: number | null): boolean =>
  ceiling !== null && (asked === null || asked > ceiling);

/** Whether one of the rules lets through all that the asked one does. */
function isCovered(asked: string, rules: readonly string[]): boolean {
  const [name = '', port] = asked.split(':');
  return rules.some((rule) => {
    const [pattern = '', allowed] = rule.split(':');
    const isNamed = name === pattern || (pattern.startsWith('*.') && name.endsWith(pattern.slice(1)));
    // A rule without a port is for 80 and 443.
    return isNamed && (allowed === port || (allowed === undefined && (port === '80' || port === '443')));
  });
}

/** The fields of a spec that lie above the ceilings, as pointers within it. */
export function aboveCeilings(
  { limits, security, bestEffort, snapshots }: EnvironmentSpec,
  most: Ceilings,
): readonly string[] {
  const above: readonly (readonly [string, boolean])[] = [
    ['/limits/memoryMb', exceeds(limits.memoryMb, most.memoryMb)],
    ['/limits/cpuCores', exceeds(limits.cpuCores, most.cpuCores)],
    ['/limits/maxProcesses', exceeds(limits.maxProcesses, most.maxProcesses)],
    ['/limits/diskGb', exceeds(limits.diskGb, most.diskGb)],
    ['/snapshots/most', exceeds(snapshots?.most ?? 0, most.snapshots)],
    ['/snapshots/keepHours', exceeds(snapshots?.keepHours ?? 0, most.snapshotHours)],
    ['/security/readOnlyRoot', !security.readOnlyRoot && !most.writableRoot],
    ['/bestEffort', bestEffort && !most.bestEffort],
  ];
  const hosts = security.allowedEgress.flatMap((rule, index) =>
    isCovered(rule, most.allowedEgress) ? [] : [`/security/allowedEgress/${index}`],
  );
  return [...above.flatMap(([pointer, isAbove]) => (isAbove ? [pointer] : [])), ...hosts];
}

const named = z.strictObject({ path: hostPath, writable: z.boolean().default(false) });

/** A folder of the host that containers may be given, with what is in it. Read only unless it says otherwise. */
export const hostFolder = z.union([hostPath.transform((path) => ({ path, writable: false })), named]);
export type HostFolderConfig = z.input<typeof hostFolder>;
export type HostFolder = z.output<typeof hostFolder>;

/** Paths with all links resolved. */
interface MountPlace {
  readonly folders: readonly HostFolder[];
  /** The folders as the configuration names them. A refusal tells them. */
  readonly named: readonly string[];
  /** What no container is given: the data directory, with the database of all tenants, the signing key, exports, artifacts and secrets. */
  readonly kept: readonly string[];
}

/**
 * Why a mount may not be; null: it may. `real` is its source without links; null: one of them leads nowhere. Of what is in no folder that the
 * configuration names it says the same, whatever there is: who asks is a tenant, and the host is everybody's.
 */
export function mountProblem(
  { source, readOnly }: EnvironmentSpec['mounts'][number],
  real: string | null,
  { folders, named, kept }: MountPlace,
): string | null {
  const isIn = (path: string) => (folder: string) => path === folder || path.startsWith(`${folder}/`);
  if (real === null && [...named, ...folders.map(({ path }) => path)].some(isIn(source)))
    return `${source} is a link that leads nowhere`;
  const within = real === null ? [] : folders.filter(({ path }) => isIn(real)(path));
  if (real === null || within.length === 0)
    return `${source} is in no folder that the configuration names in hostFolders: ${named.join(', ') || 'none'}`;
  if (isKeptFromContainers(real)) return `${source} is a place of the host that no container may see`;
  if (kept.some((one) => meet(one, real)))
    return `${source} is, holds or is in what Holdfast keeps: its data directory, exports, artifacts, checkpoints, recordings, keys and tokens`;
  if (readOnly || within.some(({ writable }) => writable)) return null;
  return `${source} may be mounted read only; hostFolders names no writable folder that it is in`;
}
