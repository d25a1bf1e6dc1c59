import { DockerEngine } from '../containers/docker-engine.js';
import type { EnvironmentEngine } from '../core/environment.js';
import type { RegisteredAgent } from './agent-registry.js';
import { type EngineConfig, withDefaults } from './engine-config.js';

/** That of this machine. */
export const DEFAULT_DOCKER_HOST = 'unix:///var/run/docker.sock';

/** The engine of the containers of runs; null: this process needs none. Nothing is contacted before a run wants one. */
export function openContainers(config: EngineConfig, agents: Iterable<RegisteredAgent>): EnvironmentEngine | null {
  const { role, dockerPatienceMs: patienceMs } = withDefaults(config);
  if (role === 'api') return null;
  const wanted = [...agents].some(({ environment }) => environment !== null);
  const host = config.dockerHost ?? (wanted ? DEFAULT_DOCKER_HOST : null);
  return host === null ? null : new DockerEngine(host, { patienceMs });
}
