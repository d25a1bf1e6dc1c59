import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type EnvironmentIdentity, type EnvironmentName, environmentName } from '../../core/containers/environment.js';
import { EGRESS_DIR, type EnvironmentSpec } from '../../core/containers/environment-spec.js';
import { HoldfastError } from '../../core/errors/errors.js';
import type { EngineConnection } from '../docker/engine-connection.js';
import { inspect } from '../docker/inspect.js';
import { type EgressPolicy, EgressProxy } from './egress-proxy.js';

/** Where a container has the socket, and what tells that it is the one of this machine. */
export const EGRESS_SOCKET = `${EGRESS_DIR}/socket`;
export const EGRESS_SIGN = `${EGRESS_DIR}/sign`;

/** Of a socket's path (unix(7)), less what the proxy puts behind it for a moment: a dot and the number of a process. */
const LONGEST_PATH = 98;

/** The name of the directory of all sockets, below the data directory of a worker. */
const EGRESS = 'egress';

export interface EgressPlace {
  /** A directory of this machine, absolute, whose name is EGRESS. */
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
    if (there !== undefined) {
      // Another worker may have taken its place, and may have died since.
      if (await there.proxy.isThere()) return there.shared;
      there.proxy.close();
    }
    const dir = (await this.mountedBy(identity, signal)) ?? this.#dirOf(identity);
    const socket = join(dir, 'socket');
    if (Buffer.byteLength(socket) > LONGEST_PATH)
      throw unshared(`${socket} is too long for a socket; give Holdfast a directory with a shorter path`);
    const proxy = new EgressProxy(
      {
        rules: identity.spec.security.allowedEgress,
        addressesOf: this.#place.addressesOf,
        onDenied: (denied) => this.#place.onDenied({ ...denied, runId: identity.runId }),
      },
      () => {
        if (this.#proxies.get(name)?.proxy === proxy) this.#proxies.delete(name);
      },
    );
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

  /** Ends it for an environment that is stopped. */
  end(name: EnvironmentName): void {
    this.#proxies.get(environmentName(name))?.proxy.close();
  }

  /** Ends it, and removes its directory: also that of another worker on this machine, which then stops listening. */
  async remove(name: EnvironmentName, mounted: string | null): Promise<void> {
    this.end(name);
    const own = this.#dirOf(name);
    const isOurs = mounted !== null && basename(mounted) === basename(own) && basename(dirname(mounted)) === EGRESS;
    for (const dir of isOurs ? [own, mounted] : [own]) await rm(dir, { recursive: true, force: true });
  }

  /** Where the container of an environment has its socket from; null: from nowhere, or there is no container. */
  async mountedBy(name: EnvironmentName, signal: AbortSignal): Promise<string | null> {
    const found = await inspect(this.#engine, environmentName(name), signal);
    return found?.Mounts.find(({ Destination }) => Destination === EGRESS_DIR)?.Source ?? null;
  }

  close(): void {
    for (const { proxy } of [...this.#proxies.values()]) proxy.close();
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
