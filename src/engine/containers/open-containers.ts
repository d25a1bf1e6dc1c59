import { resolve } from 'node:path';
import type { EngineAddress } from '../../core/containers/engine-address.js';
import type { EnvironmentEngine } from '../../core/containers/environment.js';
import { imagePolicy } from '../../core/containers/image-policy.js';
import { CONTAINER_PACKAGE, loadPackage } from '../../core/optional-package.js';
import { checkedAddresses, systemResolve } from '../../tools/http/http-address.js';
import type { RegisteredAgent } from '../agents/agent-registry.js';
import { DEFAULT_DATA_DIR, type EngineConfig, withDefaults } from '../engine-config.js';
import type { HostFolders } from '../tasks/host-folders.js';

/** That of this machine. */
export const DEFAULT_DOCKER_HOST = 'unix:///var/run/docker.sock';

const NOTHING_PRIVATE: ReadonlySet<string> = new Set();
const DENIALS_A_SECOND = 10;

/** The address of the engine of this process; null: it needs none. */
export function engineAddress(config: EngineConfig, agents: Iterable<RegisteredAgent>): EngineAddress | null {
  if (withDefaults(config).role === 'api') return null;
  const wanted = [...agents].some(({ environment }) => environment !== null);
  const host = config.dockerHost ?? (wanted ? DEFAULT_DOCKER_HOST : null);
  return host === null ? null : { host, certPath: config.dockerCertPath ?? null };
}

/** Loaded where it is needed: most processes have no containers, and start sooner. Throws `package_missing`. */
export const loadContainers = () =>
  loadPackage('Containers need', CONTAINER_PACKAGE, () => import('../../containers/docker/docker-engine.js'));

/** The engine of the containers of runs; null: this process needs none. Nothing is contacted before a run wants one. */
export async function openContainers(
  config: EngineConfig,
  agents: Iterable<RegisteredAgent>,
  hostFolders: HostFolders,
): Promise<EnvironmentEngine | null> {
  const { dockerPatienceMs: patienceMs, log } = withDefaults(config);
  const address = engineAddress(config, agents);
  if (address === null) return null;
  const egress = {
    dir: resolve(config.dataDir ?? DEFAULT_DATA_DIR, 'egress'),
    addressesOf: (name: string, port: number) => checkedAddresses(urlOf(name, port), systemResolve, NOTHING_PRIVATE),
    onDenied: seldom((denied: object) =>
      log.warn(
        { component: 'containers', event: 'connection_refused', ...denied },
        'a container was refused a connection',
      ),
    ),
  };
  const { DockerEngine } = await loadContainers();
  return new DockerEngine(address, {
    ...{ patienceMs, egress, assertMounts: (spec) => hostFolders.assertMounts(spec) },
    images: imagePolicy.parse(config.imagePolicy ?? {}),
  });
}

const urlOf = (name: string, port: number): URL => new URL(`http://${name.includes(':') ? `[${name}]` : name}:${port}`);

/** What a program in a container does as often as it likes is told a few times a second. */
function seldom<T>(tell: (what: T) => void): (what: T) => void {
  let second = 0;
  let told = 0;
  return (what) => {
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) told = 0;
    second = now;
    if (++told <= DENIALS_A_SECOND) tell(what);
  };
}
