import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type Docker from 'dockerode';
import type { EnvironmentSpec } from '../../core/containers/environment-spec.js';
import { isAboutProfile } from '../docker/engine-answers.js';
import type { EngineConnection } from '../docker/engine-connection.js';

/** Not compiled: the package has it. */
const FILE = createRequire(import.meta.url).resolve('#seccomp');

/** As engines call a filter that no one has chosen, and none at all. */
const UNCHOSEN = new Set(['default', 'builtin', 'unconfined']);
/** Where Podman has its own, and where someone puts another one. */
const UNCHOSEN_PATHS = new Set(['', '/usr/share/containers/seccomp.json']);
const MAX_REMEMBERED_MS = 60_000;

interface Remembered {
  readonly at: number;
  readonly filter: string | null;
}

const remembered = new WeakMap<EngineConnection, Remembered>();

/**
 * The filter of system calls for what an engine starts, as it takes one: Docker by its text, Podman by the path of its file. Null:
 * its own, since who runs the engine has chosen one, or it has none at all. What ours lets through is in `seccomp.json`: what Moby's
 * default of 2026-05 lets through for containers without further capabilities (github.com/moby/profiles, seccomp/default.json), but
 * sockets of few families alone, and no `socketcall`.
 */
export async function ourFilter(engine: EngineConnection, signal: AbortSignal): Promise<string | null> {
  const known = remembered.get(engine);
  if (known !== undefined && performance.now() - known.at < MAX_REMEMBERED_MS) return known.filter;
  const filter = await chooseFilter(engine, signal);
  remembered.set(engine, { at: performance.now(), filter });
  return filter;
}

async function chooseFilter(engine: EngineConnection, signal: AbortSignal): Promise<string | null> {
  const what = 'asking for its filter of system calls';
  const { Components: parts } = await engine.ask(what, signal, (docker) => docker.version());
  if (parts?.some(({ Name }) => Name === 'Podman Engine') === true) {
    const { host } = await engine.ask(what, signal, (docker) => podmanInfo(docker.modem));
    return UNCHOSEN_PATHS.has(host.security.seccompProfilePath ?? '') ? FILE : null;
  }
  const { SecurityOptions }: { readonly SecurityOptions?: readonly string[] } = await engine.ask(
    ...([what, signal, (docker: Docker) => docker.info()] as const),
  );
  return SecurityOptions?.some((option) => UNCHOSEN.has(/^name=seccomp,profile=(.*)$/.exec(option)?.[1] ?? '')) === true
    ? JSON.stringify(JSON.parse(readFileSync(FILE, 'utf8')))
    : null;
}

interface PodmanInfo {
  readonly host: { readonly security: { readonly seccompProfilePath?: string } };
}

/** What the API of Docker does not say: which filter containers have that name none. */
const podmanInfo = (modem: Docker['modem']): Promise<PodmanInfo> =>
  new Promise((resolve, reject) => {
    const asked = { path: '/v4.0.0/libpod/info?', method: 'GET', statusCodes: { 200: true as const } };
    modem.dial(asked, (error: unknown, data: unknown) => (error ? reject(error) : resolve(data as PodmanInfo)));
  });

/**
 * Makes a container that helps another one, and names no filter of its own. Where the engine does not find ours and the best is
 * enough, with the engine's.
 */
export async function makeFiltered(
  engine: EngineConnection,
  what: string,
  { spec, signal }: { readonly spec: EnvironmentSpec; readonly signal: AbortSignal },
  options: Docker.ContainerCreateOptions,
): Promise<Docker.Container> {
  const make = (filter: string | null) => {
    const SecurityOpt = ['no-new-privileges', ...securityOf(filter)];
    return engine.ask(what, signal, (docker) =>
      docker.createContainer({ ...options, HostConfig: { ...options.HostConfig, SecurityOpt } }),
    );
  };
  const filter = await ourFilter(engine, signal);
  try {
    return await make(filter);
  } catch (error) {
    if (filter === null || !spec.bestEffort || !isAboutProfile(error)) throw error;
    return make(null);
  }
}

/** A filter as an option of a container. */
export const securityOf = (filter: string | null): readonly string[] => (filter === null ? [] : [`seccomp=${filter}`]);
