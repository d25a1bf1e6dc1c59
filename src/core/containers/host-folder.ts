import { z } from 'zod';
import { type EnvironmentSpec, hostPath, isKeptFromContainers, meet } from './environment-spec.js';

const named = z.strictObject({ path: hostPath, writable: z.boolean().default(false) });

/** A folder of the host that containers may be given, with what is in it. Read only unless it says otherwise. */
export const hostFolder = z.union([hostPath.transform((path) => ({ path, writable: false })), named]);
export type HostFolderConfig = z.input<typeof hostFolder>;
export type HostFolder = z.output<typeof hostFolder>;

/** Paths of which no link is left. */
export interface MountPlace {
  readonly folders: readonly HostFolder[];
  /** What no container is given: the data directory, with the database of all tenants, the signing key, exports and secrets. */
  readonly kept: readonly string[];
}

/** Why a mount may not be; null: it may. `real` is its source without links. */
export function mountProblem(
  { source, readOnly }: EnvironmentSpec['mounts'][number],
  real: string,
  { folders, kept }: MountPlace,
): string | null {
  const where = real === source ? source : `${source}, which is ${real},`;
  if (isKeptFromContainers(real)) return `${where} is a place of the host that no container may see`;
  if (kept.some((one) => meet(one, real)))
    return `${where} is, holds or is in what Holdfast keeps: its data directory, exports, checkpoints, keys and tokens`;
  const within = folders.filter(({ path }) => real === path || real.startsWith(`${path}/`));
  if (within.length === 0) {
    const known = folders.map(({ path }) => path).join(', ') || 'none';
    return `${where} is in no folder that the configuration names in hostFolders: ${known}`;
  }
  if (readOnly || within.some(({ writable }) => writable)) return null;
  return `${where} may be mounted read only; hostFolders names no writable folder that it is in`;
}
