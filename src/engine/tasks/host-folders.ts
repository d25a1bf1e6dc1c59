import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type HostFolder, hostFolder, mountProblem } from '../../core/containers/ceilings.js';
import type { EnvironmentSpec } from '../../core/containers/environment-spec.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { isBucketText } from '../../core/exports/bucket-place.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { DEFAULT_DATA_DIR, type EngineConfig } from '../engine-config.js';

/** A path without links, as far as there is something; null: a link in it leads nowhere. The engine may be on another machine. */
function realOf(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) return null;
    const above = realOf(dirname(path));
    return above === null ? null : join(above, basename(path));
  }
}

/** What a program listens at, or a device: a way out of the container. Null: it is none, or is not on this machine. */
function kindProblem(source: string, real: string | null): string | null {
  const found = real === null ? undefined : lstatSync(real, { throwIfNoEntry: false });
  if (found === undefined || found.isDirectory() || found.isFile()) return null;
  return `${source} is a socket, a pipe or a device, which no container sees`;
}

/** Which folders of the host containers may be given: docs/containers/README.md. */
export class HostFolders {
  readonly #folders: readonly HostFolder[];
  readonly #ofAgents: readonly HostFolder[];
  readonly #kept: readonly string[];
  /** Kept from what tenants ask for. An agent of the configuration may mount them, since who writes it may read them. */
  readonly #keptFromTasks: readonly string[];

  /**
   * What an agent of the configuration mounts is named by it, for runs whose environment says the same. `secrets` are the files that hold
   * a secret each.
   */
  constructor(config: EngineConfig, agents: Iterable<RegisteredAgent>, secrets: readonly string[] = []) {
    this.#folders = (config.hostFolders ?? []).map((one) => hostFolder.parse(one));
    const mounts = [...agents].flatMap(({ environment }) => environment?.spec.mounts ?? []);
    this.#ofAgents = mounts.map(({ source, readOnly }) => ({ path: source, writable: !readOnly }));
    this.#kept = [resolve(config.dataDir ?? DEFAULT_DATA_DIR), ...[config.signingKeyFile ?? []].flat()].map((one) =>
      resolve(one),
    );
    const { exportDir, checkpoints, artifacts, recordTo, dockerCertPath } = config;
    const places = [exportDir, artifacts, recordTo, dockerCertPath, checkpoints === '-' ? null : checkpoints];
    const paths = places.flatMap((one) => (one && !isBucketText(one) ? [one] : []));
    this.#keptFromTasks = [...paths, ...secrets].map((one) => resolve(one));
  }

  /** What is wrong with each mount, by its index. Folders are looked at now: a link may lead elsewhere than before. */
  problems({ mounts }: Pick<EnvironmentSpec, 'mounts'>, of: 'task' | 'any'): ReadonlyMap<number, string> {
    if (mounts.length === 0) return new Map();
    const real = (path: string): string => realOf(path) ?? path;
    const named = of === 'task' ? this.#folders : [...this.#folders, ...this.#ofAgents];
    const folders = named.map((one) => ({ ...one, path: real(one.path) }));
    const kept = [...this.#kept, ...this.#kept.map(real)];
    const keptFromTasks = [...kept, ...this.#keptFromTasks, ...this.#keptFromTasks.map(real)];
    const ofAgents = new Set(of === 'task' ? [] : this.#ofAgents.map(({ path }) => real(path)));
    const shown = this.#folders.map(({ path }) => path);
    const placeOf = (at: string | null) => ({
      ...{ folders, named: shown },
      kept: at !== null && ofAgents.has(at) ? kept : keptFromTasks,
    });
    return new Map(
      mounts.flatMap((mount, index) => {
        const at = realOf(mount.source);
        const problem = mountProblem(mount, at, placeOf(at)) ?? kindProblem(mount.source, at);
        return problem === null ? [] : [[index, problem] as const];
      }),
    );
  }

  /** Right before a container is made. Throws `environment_failed`. */
  assertMounts(spec: EnvironmentSpec): void {
    const problems = [...this.problems(spec, 'any').values()];
    if (problems.length === 0) return;
    throw new HoldfastError('environment_failed', `The container is not made: ${problems.join('; ')}.`, {
      hint: 'Name the folder in `hostFolders` of the configuration, or mount another one.',
    });
  }
}
