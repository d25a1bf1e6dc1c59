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
  /** The folders as the configuration names them. A refusal tells them. */
  readonly named: readonly string[];
  /** What no container is given: the data directory, with the database of all tenants, the signing key, exports and secrets. */
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
    return `${source} is, holds or is in what Holdfast keeps: its data directory, exports, checkpoints, keys and tokens`;
  if (readOnly || within.some(({ writable }) => writable)) return null;
  return `${source} may be mounted read only; hostFolders names no writable folder that it is in`;
}
