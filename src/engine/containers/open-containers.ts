import { resolve } from 'node:path';
import type { PullNews, PullOptions } from '../../containers/docker/pull-image.js';
import type { EngineAddress } from '../../core/containers/engine-address.js';
import type { EnvironmentEngine } from '../../core/containers/environment.js';
import { type ImageCollection, type ImagePolicy, imagePolicy } from '../../core/containers/image-policy.js';
import type { EngineLog } from '../../core/ops/log-record.js';
import { CONTAINER_PACKAGE, loadPackage } from '../../core/optional-package.js';
import type { Metrics } from '../../metrics/metrics.js';
import { HeldSecret } from '../../models/secrets/held-secret.js';
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
  metrics: Pick<Metrics, 'imagePulled'>,
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
  const images = policyOf(config);
  return new DockerEngine(address, {
    ...{ patienceMs, egress, assertMounts: (spec) => hostFolders.assertMounts(spec) },
    ...{
      images,
      pulls: { login: loginsOf(images), onPull: (news) => tellPull(news, log, metrics), tellEachMs: 10_000 },
    },
  });
}

const policyOf = ({ imagePolicy: given }: EngineConfig): ImagePolicy => imagePolicy.parse(given ?? {});

/** The logins of registries. A password is read when the first pull needs it, and again when the registry refuses it. */
function loginsOf({ credentials = {} }: ImagePolicy): PullOptions['login'] {
  const held = new Map(
    Object.entries(credentials).map(([registry, { user, password }]) => [
      registry,
      { username: user, secret: new HeldSecret(password) },
    ]),
  );
  return async (registry, refused) => {
    const found = held.get(registry);
    if (found === undefined) return null;
    const password = refused === null ? await found.secret.value() : await found.secret.renewed(refused);
    return password === null ? null : { username: found.username, password };
  };
}

function tellPull(news: PullNews, log: EngineLog, metrics: Pick<Metrics, 'imagePulled'>): void {
  const { type, ...fields } = news;
  if (type === 'pulling') {
    log.info({ component: 'containers', event: 'image_pulling', ...fields }, 'the engine pulls an image');
    return;
  }
  metrics.imagePulled(type, news.ms / 1000);
  if (type === 'pulled')
    log.info({ component: 'containers', event: 'image_pulled', ...fields }, 'the engine has pulled an image');
  else
    log.warn({ component: 'containers', event: 'image_not_pulled', ...fields }, 'the engine could not pull an image');
}

/** The images that this process pulls before a run needs them. */
export const imagesAhead = (config: EngineConfig): readonly string[] => policyOf(config).ahead;

/** When images go from the engine of this process; null: none does. Those of its agents stay. */
export function collectionOf(config: EngineConfig, agents: Iterable<RegisteredAgent>): ImageCollection | null {
  const { collect, ahead } = policyOf(config);
  if (collect === undefined) return null;
  const ofAgents = [...agents].flatMap(({ environment }) => (environment === null ? [] : [environment.spec.image]));
  return { ...collect, keep: [...collect.keep, ...ahead, ...ofAgents] };
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
