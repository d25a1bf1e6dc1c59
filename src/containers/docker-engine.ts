import type {
  Environment,
  EnvironmentEngine,
  EnvironmentIdentity,
  EnvironmentName,
  LabelledEnvironment,
  OpenOptions,
} from '../core/environment.js';
import { unenforceable } from '../core/environment-spec.js';
import { HoldfastError } from '../core/errors.js';
import { readFile, writeFile } from './container-files.js';
import { EngineConnection, isRefusal } from './engine-connection.js';
import { keepContainer } from './open-container.js';
import { readyContainer, VerifiedStarts } from './ready-container.js';
import { listEnvironments, removeEnvironment } from './remove-environment.js';
import { runCommand } from './run-command.js';
import { stopContainer } from './stop-container.js';

/** Environments as containers of an engine that speaks Docker's API. */
export class DockerEngine implements EnvironmentEngine {
  readonly #engine: EngineConnection;
  readonly #verified = new VerifiedStarts();
  #id: string | null = null;

  constructor(host: string, options: { readonly patienceMs: number }) {
    this.#engine = new EngineConnection(host, options.patienceMs);
  }

  async id(signal: AbortSignal): Promise<string> {
    this.#id ??= String((await this.#engine.ask('asking for its name', signal, (docker) => docker.info())).ID);
    return this.#id;
  }

  async open(identity: EnvironmentIdentity, options: OpenOptions): Promise<Environment> {
    const never = unenforceable(identity.spec);
    if (never.length > 0 && !identity.spec.bestEffort)
      throw new HoldfastError('environment_unenforceable', `It cannot be enforced: ${never.join('; ')}.`);
    const engine = this.#engine;
    const open = (begun: boolean, signal: AbortSignal): Promise<string> =>
      readyContainer(engine, identity, { ...options, begun, signal }, this.#verified);
    const container = await open(options.begun, options.signal);
    const place = (signal: AbortSignal) => ({
      ...{ engine, container, signal },
      reopen: () => open(true, signal),
      kill: () => this.#kill(container, signal),
    });
    return {
      run: (command, signal) => runCommand(place(signal), command),
      read: (path, maxBytes, signal) => readFile(place(signal), path, maxBytes),
      write: (path, bytes, signal) => writeFile(place(signal), path, bytes),
    };
  }

  keep(identity: EnvironmentIdentity, signal: AbortSignal): Promise<void> {
    return keepContainer(this.#engine, identity, signal);
  }

  stop(name: EnvironmentName, signal: AbortSignal): Promise<void> {
    return stopContainer(this.#engine, name, signal);
  }

  remove(name: EnvironmentName, signal: AbortSignal): Promise<void> {
    return removeEnvironment(this.#engine, name, signal);
  }

  list(instance: string, signal: AbortSignal): Promise<readonly LabelledEnvironment[]> {
    return listEnvironments(this.#engine, instance, signal);
  }

  async #kill(container: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#engine.ask('ending the container', signal, (docker) => docker.getContainer(container).kill());
    } catch (error) {
      // It has ended, or is gone.
      if (!isRefusal(error, 404, 409)) throw error;
    }
  }
}
