import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type EnvironmentIdentity, type EnvironmentName, environmentName } from '../../core/containers/environment.js';
import { EGRESS_DIR, type EnvironmentSpec } from '../../core/containers/environment-spec.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { EngineConnection } from '../docker/engine-connection.js';
import { inspect } from '../docker/inspect.js';
import { type EgressPolicy, EgressProxy } from './egress-proxy.js';

/** Where a container has the socket, and what tells that it is the one of this machine. */
export const EGRESS_SOCKET = `${EGRESS_DIR}/socket`;
export const EGRESS_SIGN = `${EGRESS_DIR}/sign`;

/** Of a socket's path (unix(7)), less what the proxy puts behind it for a moment. */
const LONGEST_PATH = 90;

export interface EgressPlace {
  /** A directory of this machine, absolute. */
  readonly dir: string;
  readonly addressesOf: EgressPolicy['addressesOf'];
  readonly onDenied: (denied: Parameters<EgressPolicy['onDenied']>[0] & { readonly runId: string }) => void;
}

/** What a container is given of it: a directory of this machine, and what it must find there. */
export interface Shared {
  readonly dir: string;
  readonly sign: string;
}

export const wantsEgress = ({ security }: EnvironmentSpec): boolean =>
  security.networkMode === 'none' && security.allowedEgress.length > 0;

/** The proxies of this process, one for each environment that may reach out. */
export class Egress {
  readonly #engine: EngineConnection;
  readonly #place: EgressPlace;
  readonly #proxies = new Map<string, { readonly shared: Shared; readonly proxy: EgressProxy }>();

  constructor(engine: EngineConnection, place: EgressPlace) {
    this.#engine = engine;
    this.#place = place;
  }

  /** Listens for an environment, where its container looks for it if there is one. Throws `environment_unenforceable`. */
  async share(identity: EnvironmentIdentity, signal: AbortSignal): Promise<Shared> {
    const name = environmentName(identity);
    const there = this.#proxies.get(name);
    if (there !== undefined) return there.shared;
    const found = await inspect(this.#engine, name, signal);
    const mounted = found?.Mounts.find(({ Destination }) => Destination === EGRESS_DIR)?.Source;
    const dir = mounted ?? this.#dirOf(identity);
    const socket = join(dir, 'socket');
    if (Buffer.byteLength(socket) > LONGEST_PATH)
      throw unshared(`${socket} is too long for a socket; give Holdfast a directory with a shorter path`);
    const proxy = new EgressProxy({
      rules: identity.spec.security.allowedEgress,
      addressesOf: this.#place.addressesOf,
      onDenied: (denied) => this.#place.onDenied({ ...denied, runId: identity.runId }),
    });
    try {
      await mkdir(dirname(dir), { recursive: true, mode: 0o700 });
      await mkdir(dir, { recursive: true });
      // Users of the container enter it, whatever the umask of this process.
      await chmod(dir, 0o755);
      const shared = { dir, sign: await signOf(join(dir, 'sign')) };
      await proxy.listen(socket);
      this.#proxies.set(name, { shared, proxy });
      return shared;
    } catch (error) {
      proxy.close();
      throw unshared(error instanceof Error ? error.message : String(error));
    }
  }

  /** Ends it for an environment that runs no more, with its directory where that is of this process's own. */
  async end(name: EnvironmentName, files: 'keep' | 'remove'): Promise<void> {
    this.#proxies.get(environmentName(name))?.proxy.close();
    this.#proxies.delete(environmentName(name));
    if (files === 'remove') await rm(this.#dirOf(name), { recursive: true, force: true });
  }

  close(): void {
    for (const { proxy } of this.#proxies.values()) proxy.close();
    this.#proxies.clear();
  }

  #dirOf(name: EnvironmentName): string {
    const short = createHash('sha256').update(environmentName(name)).digest('hex').slice(0, 16);
    return join(this.#place.dir, short);
  }
}

/** The first that is written stands, so that all who serve a container have the same one. */
async function signOf(path: string): Promise<string> {
  await writeFile(path, randomBytes(16).toString('hex'), { flag: 'wx', mode: 0o644 }).catch((error: unknown) => {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  });
  await chmod(path, 0o644);
  return readFile(path, 'utf8');
}

export const unshared = (why: string): HoldfastError =>
  new HoldfastError(
    'environment_unenforceable',
    `security.allowedEgress: no socket can be shared with the container: ${why}.`,
  );
