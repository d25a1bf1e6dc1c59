import type { EngineAddress } from '../../core/containers/engine-address.js';
import type {
  EngineMachine,
  Environment,
  EnvironmentEngine,
  EnvironmentIdentity,
  EnvironmentName,
  ImageRecords,
  LabelledEnvironment,
  OpenOptions,
} from '../../core/containers/environment.js';
import { type EnvironmentSpec, unenforceable } from '../../core/containers/environment-spec.js';
import type { EngineImage } from '../../core/containers/image-collection.js';
import { assertImageAllowed, type ImagePolicy, imagePolicy } from '../../core/containers/image-policy.js';
import { HoldfastError } from '../../core/errors/errors.js';
import { Egress, type EgressPlace, type Shared, unshared, wantsEgress } from '../egress/egress.js';
import { judgeCommand } from '../exec/judge-command.js';
import { testerOf } from '../exec/judge-users.js';
import { runCommand } from '../exec/run-command.js';
import { entriesBelow, readFile, writeFile } from '../files/container-files.js';
import { keepContainer } from '../lifecycle/open-container.js';
import { type Ready, readyContainer, VerifiedStarts } from '../lifecycle/ready-container.js';
import { listEnvironments, removeEnvironment } from '../lifecycle/remove-environment.js';
import { endContainer, stopContainer } from '../lifecycle/stop-container.js';
import { EngineConnection, named } from './engine-connection.js';
import { engineIdentity } from './engine-identity.js';
import { imageBytes, listImages, removeImage } from './engine-images.js';
import { machineOfEngine, versionOf } from './look-at-engine.js';
import { type PullOptions, WITHOUT_LOGIN } from './pull-image.js';
import { ensureImage } from './ready-image.js';

/** Until then, one that does not answer is not asked again whether it does. */
const LOOK_WITHIN_MS = 10_000;

/** Environments as containers of an engine that speaks Docker's API. */
export class DockerEngine implements EnvironmentEngine {
  readonly #engine: EngineConnection;
  /** Waits for nothing. Kept, so that a look by SSH does not begin a program each time. */
  readonly #looking: EngineConnection;
  readonly #verified = new VerifiedStarts();
  readonly #egress: Egress | null;
  #id: string | null = null;
  #look: Promise<unknown> | null = null;

  readonly #images: ImagePolicy;
  readonly #pulls: PullOptions;
  readonly #assertMounts: (spec: EnvironmentSpec) => void;

  /**
   * `egress`: how containers without a network may reach out; null: not at all. `assertMounts` throws for mounts that may not be; without it
   * all may be.
   */
  constructor(
    address: EngineAddress,
    options: {
      readonly patienceMs: number;
      readonly egress?: EgressPlace | null;
      readonly assertMounts?: (spec: EnvironmentSpec) => void;
      readonly images?: ImagePolicy;
      readonly pulls?: PullOptions;
    },
  ) {
    this.#images = options.images ?? imagePolicy.parse({});
    this.#pulls = options.pulls ?? WITHOUT_LOGIN;
    this.#assertMounts = options.assertMounts ?? (() => undefined);
    this.#engine = new EngineConnection(address, options.patienceMs);
    this.#looking = new EngineConnection(address, 0);
    // Behind an address of another kind the engine may be on another machine.
    this.#egress =
      address.host.startsWith('unix://') && options.egress ? new Egress(this.#engine, options.egress) : null;
  }

  async look(): Promise<void> {
    this.#look ??= versionOf(this.#looking, AbortSignal.timeout(LOOK_WITHIN_MS))
      .catch((error: unknown) => {
        // Another one may answer there when one answers again.
        this.#id = null;
        throw error;
      })
      .finally(() => {
        this.#look = null;
      });
    await this.#look;
  }

  async id(signal: AbortSignal): Promise<string> {
    this.#id ??= await named(() => engineIdentity(this.#engine, signal));
    return this.#id;
  }

  machine(signal: AbortSignal): Promise<EngineMachine> {
    return named(() => machineOfEngine(this.#engine, signal));
  }

  async open(identity: EnvironmentIdentity, options: OpenOptions): Promise<Environment> {
    const never = unenforceable(identity.spec);
    if (never.length > 0 && !identity.spec.bestEffort)
      throw new HoldfastError('environment_unenforceable', `It cannot be enforced: ${never.join('; ')}.`);
    const engine = this.#engine;
    const open = async (begun: boolean, lookLater: boolean, signal: AbortSignal): Promise<Ready> => {
      this.#assertMounts(identity.spec);
      assertImageAllowed(identity.spec.image, this.#images);
      const egress = await this.#share(identity, signal);
      return readyContainer(
        engine,
        identity,
        { ...options, begun, lookLater, signal, egress, images: this.#images, pulls: this.#pulls },
        this.#verified,
      );
    };
    let ready = await named(() => open(options.begun, options.lookLater === true, options.signal));
    const isJudged = identity.purpose === 'verification';
    const place = (signal: AbortSignal) => ({
      ...{ engine, identity, signal },
      user: isJudged ? testerOf(identity.spec) : identity.spec.user,
      // One that was made again on the same files has another id.
      container: () => ready.id,
      unseen: () => {
        const { id, seen } = ready;
        if (seen === null) return null;
        return () => {
          seen();
          if (ready.id === id) ready = { id, seen: null };
        };
      },
      reopen: async () => {
        ready = await open(true, false, signal);
      },
      kill: () => endContainer(engine, ready.id, signal),
    });
    const looked = async (signal: AbortSignal) => {
      const found = place(signal);
      if (ready.seen !== null) await found.reopen();
      return found;
    };
    return {
      run: (command, signal) => named(() => runCommand(place(signal), command)),
      judge: (command, files, signal) => named(async () => judgeCommand(await looked(signal), command, files)),
      read: (path, maxBytes, signal) => named(async () => readFile(await looked(signal), path, maxBytes)),
      entries: (signal) => entriesBelow(place(signal), identity.spec.workdir),
      readOwn: (path, maxBytes, signal) => named(async () => readFile(await looked(signal), path, maxBytes, 'own')),
      write: (path, bytes, signal) => named(async () => writeFile(await looked(signal), path, bytes)),
      end: (signal) => named(() => endContainer(engine, ready.id, signal)),
    };
  }

  keep(identity: EnvironmentIdentity, signal: AbortSignal): Promise<void> {
    return named(() => keepContainer(this.#engine, identity, signal));
  }

  async stop(name: EnvironmentName, signal: AbortSignal): Promise<void> {
    await stopContainer(this.#engine, name, signal);
    this.#egress?.end(name);
  }

  async remove(name: EnvironmentName, signal: AbortSignal): Promise<void> {
    const mounted = (await this.#egress?.mountedBy(name, signal)) ?? null;
    await removeEnvironment(this.#engine, name, signal);
    await this.#egress?.remove(name, mounted);
  }

  async pull(image: string, records: ImageRecords, signal: AbortSignal): Promise<void> {
    assertImageAllowed(image, this.#images);
    await ensureImage(this.#engine, image, false, { images: this.#images, pulls: this.#pulls, records, signal });
  }

  images(signal: AbortSignal): Promise<readonly EngineImage[]> {
    return listImages(this.#engine, signal);
  }

  imageBytes(signal: AbortSignal): Promise<number> {
    return imageBytes(this.#engine, signal);
  }

  removeImage(image: Pick<EngineImage, 'id' | 'names'>, signal: AbortSignal): Promise<boolean> {
    return removeImage(this.#engine, image, signal);
  }

  close(): void {
    this.#egress?.close();
    this.#engine.close();
    this.#looking.close();
  }

  list(instance: string, signal: AbortSignal): Promise<readonly LabelledEnvironment[]> {
    return listEnvironments(this.#engine, instance, signal);
  }

  async #share(identity: EnvironmentIdentity, signal: AbortSignal): Promise<Shared | null> {
    if (!wantsEgress(identity.spec)) return null;
    try {
      if (this.#egress === null) throw unshared('the engine is not known to be on the machine of this worker');
      return await this.#egress.share(identity, signal);
    } catch (error) {
      if (identity.spec.bestEffort && error instanceof HoldfastError && error.code === 'environment_unenforceable')
        return null;
      throw error;
    }
  }
}
